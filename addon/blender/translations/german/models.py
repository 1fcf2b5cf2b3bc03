"""Models brought in and taken out, preferences, and what all operators say."""

from __future__ import annotations

WORDS: dict[str, str] = {
    "Meshes": "Meshes",
    "What becomes of the mesh files that the model names when it is written into another folder": (
        "Was aus den Mesh-Dateien wird, die das Modell nennt, wenn es in einen anderen Ordner geschrieben wird"
    ),
    "Copy Beside": "Daneben kopieren",
    (
        "They are copied into the folder of the new file, with their materials and pictures, so that it loads "
        "there on its own. No other file is overwritten"
    ): (
        "Sie werden mit ihren Materialien und Bildern in den Ordner der neuen Datei kopiert, sodass sie dort für sich "
        "geladen werden kann. Keine andere Datei wird überschrieben"
    ),
    "Refer": "Verweisen",
    "The new file names them as the old one does, and they stay where they are": (
        "Die neue Datei nennt sie wie die alte, und sie bleiben, wo sie sind"
    ),
    "Joint": "Gelenk",
    "The joint that is shown; click one to select it": "Das gezeigte Gelenk; ein Klick wählt es aus",
    "There is no mechanism in the scene: import one with File > Import > Mechanism": (
        "In der Szene ist kein Mechanismus: einen mit Datei > Importieren > Mechanismus holen"
    ),
    "Select any part of the mechanism that you mean: the scene holds {}": (
        "Irgendein Teil des gemeinten Mechanismus auswählen: die Szene enthält {}"
    ),
    "{} was saved by a newer Knuckle: update Knuckle to work on it": (
        "{} wurde mit einem neueren Knuckle gespeichert: Knuckle aktualisieren, um daran zu arbeiten"
    ),
    "{} is linked from another file: make it local first (Object > Relations > Make Local > All)": (
        "{} ist aus einer anderen Datei verknüpft: zuerst lokal machen (Objekt > Beziehungen > Lokal machen > Alles)"
    ),
    "Line {}: {}": "Zeile {}: {}",
    "… and {}": "… und {}",
    "{} more of this kind": "{} weitere dieser Art",
    "more warning": "weitere Warnung",
    "more warnings": "weitere Warnungen",
    "body": "Körper",
    "bodies": "Körper",
    "joint": "Gelenk",
    "loop": "Schleife",
    "Export Mechanism": "Mechanismus exportieren",
    "Write the model as a file again: what was not edited keeps the very text that it was read from": (
        "Das Modell wieder als Datei schreiben: was nicht bearbeitet wurde, behält genau den Text, aus dem es gelesen wurde"
    ),
    "File": "Datei",
    "Format": "Format",
    "The kind of file to write": "Die Art der Datei",
    "Write a {} file": "Eine {}-Datei schreiben",
    "Upright": "Aufrecht",
    "Write the model turned so that its gravity is along -Z, as Juice needs it, instead of in the axes of the file that it came from": (
        "Das Modell so gedreht schreiben, dass seine Schwerkraft entlang -Z zeigt, wie Juice es braucht, statt in den Achsen seiner Datei"
    ),
    "Collection": "Sammlung",
    "The collection whose model is written; empty for the active model": (
        "Die Sammlung, deren Modell geschrieben wird; leer: das aktive Modell"
    ),
    "; added or deleted: {}": "; hinzugefügt oder gelöscht: {}",
    "Exported {}: {}, {}{}": "{} exportiert: {}, {}{}",
    "There is no collection {}": "Es gibt keine Sammlung {}",
    "Collection {} holds {} mechanisms: a file holds one": (
        "Sammlung {} enthält {} Mechanismen: eine Datei enthält einen"
    ),
    "Import Mechanism": "Mechanismus importieren",
    "Bring in mechanisms: bodies, joints that turn within their stops, physics and the file's gait": (
        "Mechanismen hereinholen: Körper, Gelenke, die innerhalb ihrer Anschläge drehen, Physik und den Gang der Datei"
    ),
    "Imported {}: {}, {}": "{} importiert: {}, {}",
    "No file was chosen": "Es wurde keine Datei gewählt",
    "warning": "Warnung",
    "Mechanism ({})": "Mechanismus ({})",
    "Up": "Oben",
    "What of the file points up in Blender. Remembered, and turned back on export": (
        "Was in der Datei in Blender nach oben zeigt. Wird gemerkt und beim Export zurückgedreht"
    ),
    "Against the file's gravity": "Gegen die Schwerkraft der Datei",
    "The file's Z": "Das Z der Datei",
    "The file's Y": "Das Y der Datei",
    "The file's X": "Das X der Datei",
    "-Z": "-Z",
    "-Y": "-Y",
    "-X": "-X",
    "The file's Z points down": "Das Z der Datei zeigt nach unten",
    "The file's Y points down": "Das Y der Datei zeigt nach unten",
    "The file's X points down": "Das X der Datei zeigt nach unten",
    "Close Loops": "Schleifen schließen",
    "Where the file's joint positions leave a loop open, begin at the nearest ones that close it. The file keeps its own": (
        "Wo die Gelenkstellungen der Datei eine Schleife offen lassen, mit den nächsten beginnen, die sie schließen. Die Datei behält ihre eigenen"
    ),
    "Frame in View": "In Ansicht holen",
    "Replace Default Cube": "Standardwürfel ersetzen",
    "Delete the cube of Blender's startup scene, if nothing of that scene was changed yet": (
        "Den Würfel aus Blenders Startszene löschen, wenn an ihr noch nichts geändert wurde"
    ),
    "Move the 3D views so that the bodies fill them": "Die 3D-Ansichten so bewegen, dass die Körper sie füllen",
    "Physics": "Physik",
    "Make rigid bodies and constraints. They can be made, and cleared, later too": (
        "Starrkörper und Constraints anlegen. Das geht auch später, ebenso das Entfernen"
    ),
    "A floor at height 0 where the file has one": "Ein Boden in Höhe 0, wo die Datei einen hat",
    "Gait": "Gang",
    "Make an Action of the gait that the file carries": "Eine Action aus dem Gang machen, den die Datei mitbringt",
    "Seconds": "Sekunden",
    "Sine without Motion Type": "Sinus ohne Bewegungsart",
    "Play a sine on motors whose file, older than the motion types, states none. Without, such a gait does not "
    "move": "Für Motoren, deren Datei älter als die Bewegungsarten ist und keine nennt, einen Sinus abspielen. Ohne "
    "ihn bewegt sich ein solcher Gang nicht",
    "Length of the gait's Action": "Länge der Action des Gangs",
    "Set Up Scene": "Szene einrichten",
    "Run the scene at 60 frames per second, as servos are controlled once per frame, and lengthen its range to hold the gait": (
        "Die Szene mit 60 Frames je Sekunde laufen lassen, denn Servos werden einmal je Frame geregelt, und ihren Bereich verlängern, bis der Gang hineinpasst"
    ),
    "Model": "Modell",
    "Animation": "Animation",
    "{} is a linked copy (Alt+D): its switches would move {}. Delete it and duplicate the whole mechanism with Shift+D": (
        "{} ist eine verknüpfte Kopie (Alt+D): ihre Schalter würden {} bewegen. Löschen und den ganzen Mechanismus mit Umschalt+D duplizieren"
    ),
    "line {}": "Zeile {}",
    "{}: stopped, nothing was changed": "{}: angehalten, nichts wurde geändert",
    "{}: stopped, as what it works on was deleted or undone meanwhile": "{}: angehalten, weil inzwischen gelöscht oder rückgängig gemacht wurde, woran es arbeitet",
    "Add Mesh Folder": "Mesh-Ordner hinzufügen",
    "Allow one more folder in which the meshes of models may be looked for": (
        "Einen weiteren Ordner erlauben, in dem nach Meshes von Modellen gesucht werden darf"
    ),
    "Remove Mesh Folder": "Mesh-Ordner entfernen",
    "Look for meshes in this folder no more": "In diesem Ordner nicht mehr nach Meshes suchen",
    "Enable Knuckle under Add-ons of the preferences first": (
        "Zuerst Knuckle unter Add-ons in den Einstellungen aktivieren"
    ),
    "Folder": "Ordner",
    "Meshes that models name are looked for in this folder and all below it": (
        "Meshes, die Modelle nennen, werden in diesem Ordner und allen darunter gesucht"
    ),
    "Ignore Collada Units": "Collada-Einheiten ignorieren",
    "Take the numbers of .dae files as they are. SKEL models are made for this, as DART ignored the unit in these files up to 6.13": (
        "Die Zahlen von .dae-Dateien nehmen, wie sie sind. SKEL-Modelle sind dafür gemacht, denn DART hat die Einheit in diesen Dateien bis 6.13 ignoriert"
    ),
    "XMDI Root": "XMDI-Wurzel",
    "What new XMDI files call their root. The specification's text has lost the name": (
        "Wie neue XMDI-Dateien ihre Wurzel nennen. Im Text der Spezifikation ist der Name verloren gegangen"
    ),
    "Container": "Behälter",
    "What new XMDI files call the container of their motions": (
        "Wie neue XMDI-Dateien den Behälter ihrer Bewegungen nennen"
    ),
    "Imports Begin With": "Importe beginnen mit",
    "XMDI Container": "XMDI-Behälter",
    "Mesh Folders": "Mesh-Ordner",
    "Meshes are read from the model's own folder only": "Meshes werden nur aus dem Ordner des Modells gelesen",
    # nouns of more than one
    "hints": "Hinweise",
    "joints": "Gelenke",
    "loops": "Schleifen",
    "constraints": "Constraints",
    "objects": "Objekte",
    "mechanisms": "Mechanismen",
    "names": "Namen",
    "twins": "Zwillinge",
    "parts": "Teile",
    "pairs": "Paare",
    "differences": "Unterschiede",
    "servos": "Servos",
    "warnings": "Warnungen",
    "motions": "Bewegungen",
    "more times": "weitere Male",
    "times": "Mal",
    "curves": "Kurven",
    "Export Mechanism…": "Mechanismus exportieren…",
    "Import Servo Motion…": "Servobewegung importieren…",
    "Export Servo Motion…": "Servobewegung exportieren…",
    "Simulation": "Simulation",
    "Edit": "Bearbeiten",
    "Check": "Prüfen",
    "Video": "Video",
}
