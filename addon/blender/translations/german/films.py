"""Videos: their stages, cameras, formats, what is written over them, and how long they take."""

from __future__ import annotations

WORDS: dict[str, str] = {
    "Preview": "Vorschau",
    "Render Video": "Video rendern",
    "Render the mechanism over the scene's frame range, on a stage and with a camera of its own": (
        "Den Mechanismus über den Framebereich der Szene rendern, auf einer Bühne und mit eigener Kamera"
    ),
    "The mechanism has no bodies to render": "Der Mechanismus hat keine Körper, die gerendert werden könnten",
    "A video is being rendered": "Ein Video wird gerade gerendert",
    "{}, playing the motion": "{}, Bewegung abspielen",
    "{} of {} ({} %)": "{} von {} ({} %)",
    "{} of {} ({} %, {} left)": "{} von {} ({} %, noch {})",
    "{}: {}.  Esc stops it": "{}: {}.  Esc hält es an",
    "Press Esc to stop": "Esc hält an",
    "Video rendered: {}": "Video gerendert: {}",
    "Picture rendered: {}": "Bild gerendert: {}",
    "The mechanism does not move: it has no keyframes, and no physics": (
        "Der Mechanismus bewegt sich nicht: er hat keine Keyframes und keine Physik"
    ),
    "Engine": "Engine",
    "Render engine of the video": "Render-Engine des Videos",
    "Size": "Größe",
    "Width and height in pixels": "Breite und Höhe in Pixeln",
    "The video's file is beside the .blend, which was never saved: save it, or choose another file": (
        "Die Videodatei liegt neben der .blend-Datei, die nie gespeichert wurde: speichern oder eine andere Datei wählen"
    ),
    "Choose a file for the video, or save the .blend first: the video then goes beside it": (
        "Eine Datei für das Video wählen oder zuerst die .blend-Datei speichern: dann kommt das Video daneben"
    ),
    "Render the current frame as it will be in the video": "Den aktuellen Frame rendern, wie er im Video sein wird",
    "Preview: the image {}": "Vorschau: das Bild {}",
    "{}: stopped, {} kept. Render again to go on": "{}: angehalten, {} behalten. Erneut rendern setzt fort",
    "Titles and Extras": "Titel und Beigaben",
    "{}, one picture": "{}, ein Bild",
    "{}, {} s, {} at {} per second": "{}, {} s, {}, {} je Sekunde",
    "frame": "Frame",
    "frames": "Frames",
    "An interrupted render left {} to go on with": "Ein unterbrochenes Rendern ließ {} übrig, mit denen es weitergeht",
    "A .mp4, .webm, .webp or .gif for a video, a .png for one picture. Empty: a video named after the mechanism, beside the .blend": (
        ".mp4, .webm, .webp oder .gif für ein Video, .png für ein Bild. Leer: ein Video mit dem Namen des Mechanismus neben "
        "der .blend-Datei"
    ),
    "Size and rate of the video": "Größe und Bildrate des Videos",
    "Stage": "Bühne",
    "Ground, sky and light": "Boden, Himmel und Licht",
    "Camera": "Kamera",
    "Viewpoint and movement of the camera": "Blickpunkt und Bewegung der Kamera",
    "Samples": "Samples",
    "Of each pixel; 0 chooses what suits the engine": "Je Pixel; 0 wählt, was zur Engine passt",
    "Length of the video": "Länge des Videos",
    "Length of the video (s)": "Länge des Videos (s)",
    "Title": "Titel",
    "Title at the upper left of the video": "Titel links oben im Video",
    "Data written and drawn over the video": "Daten, die über das Video geschrieben und gezeichnet werden",
    "Beside the .blend": "Neben der .blend",
    "Keyframes Beside Physics": "Keyframes neben Physik",
    "Show the mechanism on its keyframes at the left and under physics at the right": (
        "Den Mechanismus links auf seinen Keyframes und rechts unter Physik zeigen"
    ),
    "Contact Sheet": "Kontaktabzug",
    "Make an overview of the frames too, a .png beside the video": (
        "Auch eine Übersicht der Frames machen, eine .png neben dem Video"
    ),
    "Poster": "Poster",
    "Render a fine picture of the middle too, a .png beside the video": (
        "Auch ein feines Bild aus der Mitte rendern, eine .png neben dem Video"
    ),
    "Keep Frames": "Frames behalten",
    "Leave the frames in a folder beside the video": "Die Frames in einem Ordner neben dem Video lassen",
    "Workbench": "Workbench",
    "Plain and quick: some seconds for a short video": "Schlicht und schnell: einige Sekunden für ein kurzes Video",
    "EEVEE": "EEVEE",
    "Soft light and shadows; needs a graphics card to be quick": (
        "Weiches Licht und Schatten; braucht eine Grafikkarte, um schnell zu sein"
    ),
    "Cycles": "Cycles",
    "Path traced, the finest and the slowest": "Pfadverfolgung, am feinsten und am langsamsten",
    "Studio": "Studio",
    "A bright checkered floor that fades into the backdrop": (
        "Ein heller karierter Boden, der in den Hintergrund übergeht"
    ),
    "Outdoor": "Draußen",
    "Open ground in the sun, under a blue sky": "Offenes Gelände in der Sonne, unter blauem Himmel",
    "Blueprint": "Blaupause",
    "Pale lines on blue": "Blasse Linien auf Blau",
    "Scientific": "Wissenschaftlich",
    "White ground with a grid and its scale": "Weißer Grund mit einem Gitter und seinem Maßstab",
    "Follow": "Folgen",
    "At three quarters, going along smoothly with what walks or drives": (
        "Schräg von vorn, ruhig mit dem mitgehend, was läuft oder fährt"
    ),
    "Fixed": "Fest",
    "At three quarters, standing still: the whole way is in the picture": (
        "Schräg von vorn, stillstehend: der ganze Weg ist im Bild"
    ),
    "Three-Quarter": "Dreiviertel",
    "At three quarters, going along only with what goes far": "Schräg von vorn, nur mitgehend, was weit geht",
    "Side": "Seite",
    "From the side, going along only with what goes far": "Von der Seite, nur mitgehend, was weit geht",
    "Front": "Vorn",
    "From the front, going along only with what goes far": "Von vorn, nur mitgehend, was weit geht",
    "Turntable": "Drehteller",
    "Once round the mechanism": "Einmal um den Mechanismus herum",
    "Small": "Klein",
    "960 x 540: quick to make and to send": "960 x 540: schnell gemacht und schnell verschickt",
    "HD": "HD",
    "Full HD": "Full HD",
    "1280 x 720: sharp enough for most": "1280 x 720: für das meiste scharf genug",
    "1920 x 1080: for large screens": "1920 x 1080: für große Bildschirme",
    "1080 x 1080: for feeds": "1080 x 1080: für Feeds",
    "Square": "Quadrat",
    "Vertical": "Hochkant",
    "1080 x 1920, for telephones": "1080 x 1920, für Telefone",
    "A .gif of 480 x 480 that repeats for ever": "Eine .gif von 480 x 480, die sich endlos wiederholt",
    "Custom Size": "Eigene Größe",
    "Any size in pixels": "Jede Größe in Pixeln",
    "Scene Range": "Szenenbereich",
    "From the scene's first frame to its last": "Vom ersten Frame der Szene bis zum letzten",
    "4 Seconds": "4 Sekunden",
    "8 Seconds": "8 Sekunden",
    "15 Seconds": "15 Sekunden",
    "From the scene's first frame on": "Vom ersten Frame der Szene an",
    "Custom Length": "Eigene Länge",
    "Seconds from the scene's first frame on": "Sekunden vom ersten Frame der Szene an",
    "The mechanism's name": "Der Name des Mechanismus",
    "Time": "Zeit",
    "The time since the scene's start": "Die Zeit seit dem Anfang der Szene",
    "A table of the servos' values": "Eine Tabelle der Werte der Servos",
    "An arrow along each joint's axis": "Ein Pfeil entlang jeder Gelenkachse",
    "A dial or a bar from stop to stop with the current value": (
        "Eine Skala oder ein Balken von Anschlag zu Anschlag, mit dem aktuellen Wert"
    ),
}
