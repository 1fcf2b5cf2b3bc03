"""Films: their stages, cameras, formats and what is written over them."""

from __future__ import annotations

WORDS: dict[str, str] = {
    "Preview": "Vorschau",
    "Show the present frame as it will be in the film": "Den jetzigen Frame zeigen, wie er im Film sein wird",
    "Preview: the image {}": "Vorschau: das Bild {}",
    "{}: stopped; made again it goes on after frame {}": "{}: angehalten; erneut gemacht geht er nach Frame {} weiter",
    "Titles and Extras": "Titel und Beigaben",
    "{}, one picture": "{}, ein Bild",
    "{}, {} s, {} at {} per second": "{}, {} s, {}, {} je Sekunde",
    "frame": "Frame",
    "frames": "Frames",
    "An interrupted film left {} to go on with": "Ein unterbrochener Film ließ {} übrig, mit denen es weitergeht",
    "A .mp4, .webm or .gif for a video, a .png for one picture. Empty: a video named after the mechanism, beside the .blend": (
        ".mp4, .webm oder .gif für ein Video, .png für ein Bild. Leer: ein Video mit dem Namen des Mechanismus neben "
        "der .blend-Datei"
    ),
    "Size and rate of the film": "Größe und Bildrate des Films",
    "Stage": "Bühne",
    "Where it is filmed": "Wo gefilmt wird",
    "Camera": "Kamera",
    "From where it is filmed": "Von wo gefilmt wird",
    "Samples": "Samples",
    "Of each pixel; 0 chooses what suits the engine": "Je Pixel; 0 wählt, was zur Engine passt",
    "How long the film is": "Wie lang der Film ist",
    "Length of the film": "Länge des Films",
    "Title": "Titel",
    "What is written over the film": "Was über den Film geschrieben wird",
    "What is written and drawn over the film": "Was über den Film geschrieben und gezeichnet wird",
    "Beside the .blend": "Neben der .blend-Datei",
    "Keys Beside Physics": "Schlüssel neben Physik",
    "Show the mechanism on its keys at the left and under physics at the right": (
        "Den Mechanismus links auf seinen Keys und rechts unter Physik zeigen"
    ),
    "Contact Sheet": "Kontaktabzug",
    "Make an overview of the frames too, a .png beside the film": (
        "Auch eine Übersicht der Frames machen, eine .png neben dem Film"
    ),
    "Poster": "Poster",
    "Make a fine picture of the middle too, a .png beside the film": (
        "Auch ein feines Bild aus der Mitte machen, eine .png neben dem Film"
    ),
    "Keep Frames": "Frames behalten",
    "Leave the frames in a folder beside the film": "Die Frames in einem Ordner neben dem Film lassen",
    "Workbench": "Workbench",
    "Plain and quick: some seconds for a short film": "Schlicht und schnell: einige Sekunden für einen kurzen Film",
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
    "A meadow in the sun, under a blue sky": "Eine Wiese in der Sonne, unter blauem Himmel",
    "Blueprint": "Blaupause",
    "Pale lines on blue": "Blasse Linien auf Blau",
    "Scientific": "Wissenschaftlich",
    "White ground with a grid whose lines say where they are": (
        "Weißer Grund mit einem Gitter, dessen Linien sagen, wo sie sind"
    ),
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
    "A .gif of 480 x 480 that goes round for ever": "Eine .gif von 480 x 480, die immer im Kreis läuft",
    "Own Size": "Eigene Größe",
    "As large as you like": "So groß, wie Sie wollen",
    "Scene Range": "Szenenbereich",
    "From the scene's first frame to its last": "Vom ersten Frame der Szene bis zum letzten",
    "4 Seconds": "4 Sekunden",
    "8 Seconds": "8 Sekunden",
    "15 Seconds": "15 Sekunden",
    "From the scene's first frame on": "Vom ersten Frame der Szene an",
    "Own Length": "Eigene Länge",
    "So many seconds from the scene's first frame on": "So viele Sekunden vom ersten Frame der Szene an",
    "The mechanism's name": "Der Name des Mechanismus",
    "Time": "Zeit",
    "The time since the scene's start": "Die Zeit seit dem Anfang der Szene",
    "A table of what each servo is at": "Eine Tabelle, wo jeder Servo steht",
    "An arrow along each joint's axis": "Ein Pfeil entlang jeder Gelenkachse",
    "A dial or a bar from stop to stop with the present value": (
        "Eine Skala oder ein Balken von Anschlag zu Anschlag, mit dem jetzigen Wert"
    ),
}
