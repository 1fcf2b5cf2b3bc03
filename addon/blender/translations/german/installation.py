"""The self-check of the installation."""

from __future__ import annotations

WORDS: dict[str, str] = {
    "Self-Check": "Selbstprüfung",
    "Look whether this installation is whole: versions, modules, what Blender was built with, where it may write; and take one model of each format the whole way. The open file is not touched": "Sehen, ob diese Installation heil ist: Versionen, Module, womit Blender gebaut ist, wohin es schreiben darf; und ein Modell jedes Formats den ganzen Weg gehen lassen. Die offene Datei bleibt unberührt",
    "Copy Report": "Bericht kopieren",
    "Copy what the self-check found as plain text, for a report of a defect": "Was die Selbstprüfung fand als Text kopieren, um einen Fehler zu melden",
    "The report is on the clipboard": "Der Bericht ist in der Zwischenablage",
    "Everything works": "Alles geht",
    "Wrong: {}, to be looked at: {}": "Falsch: {}, anzusehen: {}",
    # what is looked at; versions and names of modules are the same in both
    "System": "System",
    "Physics engine": "Physik",
    "Video encoder": "Videokodierer",
    "OBJ reader": "OBJ-Leser",
    "STL reader": "STL-Leser",
    "PLY reader": "PLY-Leser",
    "Graphics": "Grafik",
    "Temporary files": "Temporäre Dateien",
    "Blender's session": "Blenders Sitzung",
    "Test run of {}": "Probelauf von {}",
    # how it is
    "is there": "ist da",
    "is missing: {}": "fehlt: {}",
    "{} is missing": "{} fehlt",
    "{} can be written": "{} ist beschreibbar",
    "this Blender does not say whether it has it": "dieses Blender sagt nicht, ob es das hat",
    "no drive but Keys works": "kein Antrieb außer Keys geht",
    "films can be written as pictures only": "Filme lassen sich nur als Bilder schreiben",
    "bodies of .obj files become boxes": "Körper aus .obj-Dateien werden Quader",
    "bodies of .stl files become boxes": "Körper aus .stl-Dateien werden Quader",
    "bodies of .ply files become boxes": "Körper aus .ply-Dateien werden Quader",
    "A picture came back in the wrong colour: {}": "Ein Bild kam in der falschen Farbe zurück: {}",
    # what to do
    "Uninstall Knuckle, restart Blender and install the zip of your platform again": "Knuckle deinstallieren, Blender neu starten und das Zip für diese Plattform wieder installieren",
    "Should something fail that needs it, disable the other add-on that brings this module, and restart": "Sollte etwas misslingen, das es braucht: das andere Add-on, das dieses Modul mitbringt, abschalten und neu starten",
    "Use a Blender from blender.org: distributions build some without it": "Ein Blender von blender.org nehmen: Distributionen bauen manche ohne das",
    "Overlays cannot be drawn into pictures; update the driver": "Overlays lassen sich nicht in Bilder zeichnen; den Treiber erneuern",
    "Make room, or let yourself write there; Preferences > File Paths > Temporary Files names another folder": "Platz schaffen oder sich dort Schreibrecht geben; Einstellungen > Dateipfade > Temporäre Dateien nennt einen anderen Ordner",
    "Copy the report and send it to the developers": "Den Bericht kopieren und den Entwicklern schicken",
}
