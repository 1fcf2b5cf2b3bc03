"""What the Report panel and the checks tell of, and why an operator could not do what was asked."""

from __future__ import annotations

WORDS: dict[str, str] = {
    # what the check finds, and what mends it
    "Body {} has no mass: physics cannot move it": "Körper {} hat keine Masse: die Physik kann ihn nicht bewegen",
    "Body {} has a mass of {}: physics cannot move it": "Körper {} hat eine Masse von {}: die Physik kann ihn nicht bewegen",
    "Weigh it by its volume": "Nach seinem Volumen wiegen",
    "The moments of inertia of {} are of no body": "Die Trägheitsmomente von {} kann kein Körper haben",
    "{} joints hold masses of more than 1 to {} together; {} of 1 to {}": (
        "{} Gelenke halten Massen von mehr als 1 zu {} zusammen; {} von 1 zu {}"
    ),
    "Joint {} joins a body to itself": "Gelenk {} verbindet einen Körper mit sich selbst",
    "Joint {} lacks a body, and does nothing": "Gelenk {} fehlt ein Körper, und es tut nichts",
    "Delete the joint": "Das Gelenk löschen",
    "{} joints are between the same two bodies: {}": "{} Gelenke liegen zwischen denselben zwei Körpern: {}",
    "No joint holds {}": "Kein Gelenk hält {}",
    "The lower stop of {} lies above its upper one": "Der untere Anschlag von {} liegt über dem oberen",
    "Exchange the two stops": "Die beiden Anschläge tauschen",
    "Joint {} begins beyond its stop": "Gelenk {} beginnt jenseits seines Anschlags",
    "Begin at the stop": "Am Anschlag beginnen",
    "{} bodies are called {}": "{} Körper heißen {}",
    "{} joints are called {}: motions cannot tell them apart": (
        "{} Gelenke heißen {}: Bewegungen können sie nicht unterscheiden"
    ),
    "Number their names": "Ihre Namen nummerieren",
    "{} and {} are twins and differ: {}": "{} und {} sind Zwillinge und unterscheiden sich: {}",
    "{} has a twin that is not there": "{} hat einen Zwilling, den es nicht gibt",
    "{} calls {} its twin, which has another": "{} nennt {} seinen Zwilling, der einen anderen hat",
    "Unlink it": "Verbindung lösen",
    "The loop that {} closes is open by {} (length) and {}° where its joints begin": (
        "Die Schleife, die {} schließt, steht um {} (Länge) und {}° offen, wo ihre Gelenke beginnen"
    ),
    "The model as a whole is scaled unevenly or mirrored": (
        "Das Modell als Ganzes ist ungleichmäßig skaliert oder gespiegelt"
    ),
    "The model as a whole is scaled by {}: files keep its own size": (
        "Das Modell als Ganzes ist um {} skaliert: Dateien behalten seine eigene Größe"
    ),
    "Body {} is round and scaled unevenly: files keep the larger side": (
        "Körper {} ist rund und ungleichmäßig skaliert: Dateien behalten die größere Seite"
    ),
    "Body {} is scaled to nothing": "Körper {} ist auf nichts skaliert",
    "Nobody but you can know how to mend this: {}": "Nur Sie können wissen, wie das zu beheben ist: {}",
    "The stops were exchanged": "Die Anschläge wurden getauscht",
    "It begins at its stop": "Es beginnt an seinem Anschlag",
    "The joint was deleted": "Das Gelenk wurde gelöscht",
    "It is nobody's twin now": "Es ist jetzt niemandes Zwilling",
    "{} parts were numbered": "{} Teile wurden nummeriert",
    "{} that no joint joins {} in one another; the deepest are {}, by {}": (
        "{}, die kein Gelenk verbindet, {} ineinander; am tiefsten {}, um {}"
    ),
    "begin": "beginnen",
    "begins": "beginnt",
    "{} pairs of bodies": "{} Körperpaare",
    "A pair of bodies": "Ein Körperpaar",
    "what it hangs on": "woran es hängt",
    "number of its joints": "Zahl seiner Gelenke",
    "no twin": "kein Zwilling",
    "no twin, nor have {} that hang on it": "kein Zwilling, auch nicht {}, die daran hängen",
    "Nothing can touch {}: no shape to collide with": "Nichts kann {} berühren: keine Form, die anstößt",
    "{} is on one side alone: {}": "{} ist nur auf einer Seite: {}",
    "The armature of {} was deleted: nothing poses its bodies, and no file can be written": "Das Skelett von {} wurde gelöscht: nichts stellt seine Körper, und keine Datei kann geschrieben werden",
    "Joint {} lacks a body: {} was deleted": "Gelenk {} fehlt ein Körper: {} wurde gelöscht",
    "Take {} back": "{} zurückholen",
    "The armature has bones of what is gone: {}": "Das Skelett hat Knochen von dem, was fort ist: {}",
    "{} does not hang on the bone that moves it": "{} hängt nicht an dem Knochen, der es bewegt",
    "Hang it there again": "Wieder dorthin hängen",
    "The armature has no bone for {}": "Das Skelett hat keinen Knochen für {}",
    "Make its empty anew": "Sein Empty neu machen",
    "Make the bones again": "Die Knochen neu machen",
    "Take the bones away": "Die Knochen wegnehmen",
    "Collision shape {} does not hang on its body {}: physics does not have it": "Die Kollisionsform {} hängt nicht an ihrem Körper {}: In der Physik fehlt sie",
    "Hang it on its body again": "Wieder an ihren Körper hängen",
    "Moved, by hand or by an applied place, since their bones were made for them: {}": "Bewegt, von Hand oder durch einen angewandten Ort, seit ihre Knochen für sie gemacht wurden: {}",
    "A pose was applied as the rest: files get it as the design, and starts and stops still count from the rest of before": (
        "Eine Pose wurde als Ruhe angewandt: Dateien bekommen sie als Entwurf, und Anfänge und Anschläge zählen noch von der Ruhe davor"
    ),
    "Edited by hand: bone {}. Servos turn about where bones are now, and files get bodies as they stand, with the axes of before": (
        "Von Hand bearbeitet: Knochen {}. Servos drehen, wo die Knochen jetzt sind, und Dateien bekommen die Körper, wie sie stehen, mit den Achsen von vorher"
    ),
    "It weighs {} now, as typed into Blender's Physics tab; there {} stood for {}, since its flywheel has the rest. What is typed there is the whole": (
        "Es wiegt jetzt {}, wie in Blenders Reiter Physik eingegeben; dort stand {} für {}, weil sein Schwungrad den Rest hat. Was man dort eingibt, ist das Ganze"
    ),
    "Put the bones back": "Die Knochen zurücksetzen",
    "The bones are where they were made": "Die Knochen sind, wo sie gemacht wurden",
    "Update the armature": "Das Skelett auf den Stand bringen",
    "Take the mesh as its shape": "Das Mesh als seine Form nehmen",
    "Take the mesh of its shape back": "Das Mesh seiner Form zurückholen",
    "{} and {} are twins and their meshes differ by {}": "{} und {} sind Zwillinge, und ihre Meshes unterscheiden sich um {}",
    "{} pairs of {} are twins no more: {} has its halves elsewhere": "{} Paare von {} sind keine Zwillinge mehr: {} hat seine Hälften anderswo",
    "mesh": "Mesh",
    "The mesh of {} was edited by hand: files keep the shape that it was": "Das Mesh von {} wurde von Hand bearbeitet: Dateien behalten die Form, die es war",
    "{} steps per second and {} iterations: {}": "{} Schritte pro Sekunde und {} Iterationen: {}",
    "The armature fits its parts": "Das Skelett passt zu seinen Teilen",
    "It hangs on its bone again": "Es hängt wieder an seinem Knochen",
    "It hangs on its body again": "Es hängt wieder an seinem Körper",
    "{} is back": "{} ist wieder da",
    "It has the mesh of its shape again": "Es hat wieder das Mesh seiner Form",
    "It was deleted": "Es wurde gelöscht",
    "Take it back": "Zurückholen",
    "Delete it": "Löschen",
    # twins and mirroring
    "{} pairs have no twins and were found by name: {}": (
        "{} Paare haben keine Zwillinge und wurden am Namen erkannt: {}"
    ),
    "No joint has a twin or a name that tells its side: all are mirrored onto themselves": (
        "Kein Gelenk hat einen Zwilling oder einen Namen, der seine Seite nennt: alle werden auf sich selbst gespiegelt"
    ),
    "No counterpart, left as they are: {}": "Ohne Gegenstück, bleiben, wie sie sind: {}",
    "Mirrored roughly, their axes are up to {}° from mirror images: {}": (
        "Ungefähr gespiegelt, ihre Achsen liegen bis zu {}° neben Spiegelbildern: {}"
    ),
    "joint {} and its twin {} have other degrees of freedom": (
        "Gelenk {} und sein Zwilling {} haben verschiedene Freiheitsgrade"
    ),
    "None of the joints has a twin: Find Twins looks for them, Create Twin makes one": (
        "Keines der Gelenke hat einen Zwilling: Zwillinge suchen findet sie, Zwilling erstellen macht einen"
    ),
    "Select bodies or joints of the mechanism to make their twins": (
        "Körper oder Gelenke des Mechanismus auswählen, um ihre Zwillinge zu erstellen"
    ),
    "Everything that is selected has a twin already: Mirror to Twin makes them alike": (
        "Alles Ausgewählte hat schon einen Zwilling: Auf Zwilling spiegeln macht sie gleich"
    ),
    "Twins are two bodies, or two joints, of one mechanism": (
        "Zwillinge sind zwei Körper oder zwei Gelenke eines Mechanismus"
    ),
    "Left as it is, its counterpart is hung up inversely: {}": (
        "Bleibt, wie es ist, denn sein Gegenstück hängt umgekehrt: {}"
    ),
    "Left as it is, some of its curves are muted: {}": "Bleibt, wie es ist, denn einige seiner Kurven sind stumm: {}",
    "None of the chosen servos of {} has a counterpart that could do what it does": (
        "Keiner der gewählten Servos von {} hat ein Gegenstück, das tun könnte, was er tut"
    ),
    "Keys are left as they are: {}": "Keys bleiben, wie sie sind: {}",
    # motions
    "A motion can be played once or more often, not {} times": (
        "Eine Bewegung kann einmal oder öfter gespielt werden, nicht {} Mal"
    ),
    "A speed has to be above 0: {} is not": "Eine Geschwindigkeit muss über 0 liegen: {} tut es nicht",
    "A duration has to be above 0: {} is not": "Eine Dauer muss über 0 liegen: {} tut es nicht",
    "The motion lasts no time: it has no two keys apart, and no speed can give it a duration": (
        "Die Bewegung dauert keine Zeit: sie hat keine zwei getrennten Keys, und keine Geschwindigkeit gibt ihr eine Dauer"
    ),
    "An NLA strip is being tweaked, which holds the Action fast: leave tweak mode (Tab) first": (
        "Ein NLA-Streifen wird bearbeitet und hält die Action fest: zuerst den Bearbeitungsmodus verlassen (Tab)"
    ),
    "{} plays no motion: import one, bake its gait or choose an Action": (
        "{} spielt keine Bewegung: eine importieren, den Gang backen oder eine Action wählen"
    ),
    "Action {} belongs to another file: make it local to edit it": (
        "Action {} gehört zu einer anderen Datei: zum Bearbeiten lokal machen"
    ),
    "Action {} belongs to another file: make it local to put keys into it": (
        "Action {} gehört zu einer anderen Datei: lokal machen, um Keys hineinzusetzen"
    ),
    "Keys would be {} frames apart, and Blender makes one of those within 0.01: {}": (
        "Keys lägen {} Frames auseinander, und Blender macht einen aus denen innerhalb von 0.01: {}"
    ),
    "The curve {} has modifiers already, and Cycles has to be the first: remove them": (
        "Die Kurve {} hat schon Modifikatoren, und Zyklen muss der erste sein: diese entfernen"
    ),
    "The curve {} has modifiers, and the one that repeats has to be the first": (
        "Die Kurve {} hat Modifikatoren, und der wiederholende muss der erste sein"
    ),
    "The gait moves {} servos and plays as Action {}{}": "Der Gang bewegt {} Servos und spielt als Action {}{}",
    "; it listens to {}": "; er hört auf {}",
    "Action {} keys none of the servos of {}": "Action {} keyt keinen Servo von {}",
    "Action {} keys {} of {}": "Action {} keyt {} von {}",
    "none of the servos": "keinen der Servos",
    "none of the selected servos": "keinen der ausgewählten Servos",
    "{} mirrored, {} written": "{} gespiegelt, {} geschrieben",
    "1 joint": "1 Gelenk",
    "{} joints": "{} Gelenke",
    "1 curve": "1 Kurve",
    "{} curves": "{} Kurven",
    "servo {} is at no number, first at {} s": "Servo {} steht auf keiner Zahl, zuerst bei {} s",
    "{} key for key, {} sampled": "{} Key für Key, {} abgetastet",
    "{} keys of {} are between the steps of the format": "{} Keys von {} liegen zwischen den Schritten des Formats",
    "The curve of {} was sampled every {} ms: lines between samples stray from it by {} {} at most": (
        "Die Kurve von {} wurde alle {} ms abgetastet: Linien zwischen den Werten weichen um höchstens {} {} ab"
    ),
    "upper": "oben",
    "lower": "unten",
    "length units": "Längeneinheiten",
    "Bone {} turns by {} {} beside its joint (frame {}; bones that do: {}), which no servo holds: it is not in the file. Unkey these axes, or move what inverse kinematics aims it at": (
        "Knochen {} dreht um {} {} neben seinem Gelenk (Frame {}; so viele Knochen tun es: {}), was kein Servo wiedergibt: Es ist nicht in der Datei. Keys dieser Achsen löschen oder das Ziel der inversen Kinematik verschieben"
    ),
    "Bone {} slides by {} {} beside its joint (frame {}; bones that do: {}), which no servo holds: it is not in the file. Unkey these channels": (
        "Knochen {} gleitet um {} {} neben seinem Gelenk (Frame {}; so viele Knochen tun es: {}), was kein Servo wiedergibt: Es ist nicht in der Datei. Keys dieser Kanäle löschen"
    ),
    "Bone {} is scaled, by {} more or less than 1 (frame {}; bones that are: {}), which no servo holds: it is not in the file. Take the scale away (Alt+S)": (
        "Knochen {} ist skaliert, um {} mehr oder weniger als 1 (Frame {}; so viele Knochen sind es: {}), was kein Servo wiedergibt: Es ist nicht in der Datei. Skalierung löschen (Alt+S)"
    ),
    "Armature {} moves as an object, by up to {} {} (frame {}) and {} {} (frame {}), which no motion file holds: key the bone of its root instead": (
        "Armatur {} bewegt sich als Objekt, um bis zu {} {} (Frame {}) und {} {} (Frame {}), was keine Bewegungsdatei aufnimmt: stattdessen den Knochen ihrer Wurzel keyen"
    ),
    "{} holds no root motion: {}. Write CSV to keep it": (
        "{} kann den Weg der Wurzel nicht aufnehmen: {}. Als CSV schreiben, um ihn zu behalten"
    ),
    "{} has lost the objects of its joints ({}), without which it has no servos": (
        "{} hat die Objekte seiner Gelenke verloren ({}), ohne die es keine Servos hat"
    ),
    "Bones {} have lost the objects of their joints and are not in the motion: Rebuild Missing Parts makes them anew": (
        "Die Knochen {} haben die Objekte ihrer Gelenke verloren und sind nicht in der Bewegung: Fehlende Teile neu bauen stellt sie her"
    ),
    "The motion was keyed at {} frames per second and the scene shows {}: unless its keys were moved, it plays at {} times the speed of its file, and is written so. Set the scene to {}, or give Speed the factor {}": (
        "Die Bewegung wurde mit {} Frames je Sekunde gekeyt und die Szene zeigt {}: Wenn ihre Keys nicht verschoben wurden, läuft sie mit {}-facher Geschwindigkeit ihrer Datei und wird so geschrieben. Die Szene auf {} stellen oder Tempo den Faktor {} geben"
    ),
    "{} is linked from another file, where its drive is not on Keys: physics cannot run here. Make it local first (Object > Relations > Make Local > All)": (
        "{} ist aus einer anderen Datei verknüpft, in der der Antrieb nicht auf Keys steht: Physik kann hier nicht laufen. Erst lokal machen (Objekt > Beziehungen > Lokal machen > Alle)"
    ),
    "Values beyond the stops {}: {}": "Werte jenseits der Anschläge {}: {}",
    "were put at them": "wurden an diese gesetzt",
    "are written as they are": "werden geschrieben, wie sie sind",
    "; and {} servos more": "; und {} weitere Servos",
    "values are beyond the stops: {}": "Werte liegen jenseits der Anschläge: {}",
    "{} of {} samples are kept, within {} of the others": "{} von {} Werten bleiben, innerhalb von {} der übrigen",
    "{} of {} servos keyed in Action {}": "{} von {} Servos in Action {} gekeyt",
    "The motion ends at frame {}; Blender's scenes end at {}": (
        "Die Bewegung endet in Frame {}; Blenders Szenen enden bei {}"
    ),
    "{} has none of the servos of motion {} ({})": "{} hat keinen der Servos der Bewegung {} ({})",
    "Servo {} has no keys": "Servo {} hat keine Keys",
    "Servo {} moves nothing here: its joint has no bone": "Servo {} bewegt hier nichts: sein Gelenk hat keinen Knochen",
    "The file gives servo {} the unit of {}: look at it": "Die Datei gibt Servo {} die Einheit {}: bitte ansehen",
    "a length, but {} turns": "einer Länge, aber {} dreht",
    "an angle, but {} slides": "eines Winkels, aber {} schiebt",
    "Servo {} moves nothing here ({}); it goes out again unchanged": (
        "Servo {} bewegt hier nichts ({}); er geht unverändert wieder hinaus"
    ),
    "Root motion of {} moves nothing here (no root has this name); it goes out again unchanged": (
        "Die Wurzelbewegung von {} bewegt hier nichts (keine Wurzel heißt so); sie geht unverändert wieder hinaus"
    ),
    "Root motion of {} was taken for that of {}": "Die Wurzelbewegung von {} wurde für die von {} genommen",
    "Servo {} was taken for {}": "Servo {} wurde für {} genommen",
    "Servo {} is there more than once; the last one plays": "Servo {} ist mehrmals da; der letzte spielt",
    "{} of {} keys of {} are too large for Blender": "{} von {} Keys von {} sind zu groß für Blender",
    "{} keys of {} are within a hundredth of a frame of others: one shows for them": (
        "{} Keys von {} liegen innerhalb eines Hundertstels Frame bei anderen: einer steht für sie"
    ),
    "The document that {} was imported from is gone from this file: its numbers go out with the seven digits that keys have": (
        "Das Dokument, aus dem {} importiert wurde, ist nicht mehr in dieser Datei: die Zahlen gehen mit den sieben Stellen der Keys hinaus"
    ),
    "{} has no such servo that could be posed: a loop's follow what drives them": (
        "{} hat keinen solchen Servo, der gestellt werden könnte: die einer Schleife folgen dem, was sie treibt"
    ),
    "{} has no servo called {} that could be keyed": "{} hat keinen Servo namens {}, der gekeyt werden könnte",
    "A pose needs a name": "Eine Pose braucht einen Namen",
    "Keys were moved, but not those of the servos that move nothing here: {}": (
        "Keys wurden verschoben, aber nicht die der Servos, die hier nichts bewegen: {}"
    ),
    "Servo {} moves nothing here: its numbers stay as they are in its file": (
        "Servo {} bewegt hier nichts: seine Zahlen bleiben, wie sie in seiner Datei sind"
    ),
    # loops
    "Joint {} is at its {} stop: its loop is held there": (
        "Gelenk {} ist an seinem Anschlag ({}): dort wird seine Schleife gehalten"
    ),
    "A loop cannot close where its drivers are now: the others are as near to it as they can be, which leaves it open by {} (length, or as much at an arm of {})": (
        "Eine Schleife kann sich nicht schließen, wo ihre Treiber jetzt stehen: die anderen sind so nah wie möglich, womit sie um {} offen bleibt (Länge, oder ebenso viel an einem Arm von {})"
    ),
    "{} lies on no loop that moves": "{} liegt auf keiner beweglichen Schleife",
    "{} cannot drive its loop: the others do not follow from it": (
        "{} kann seine Schleife nicht treiben: die anderen folgen nicht daraus"
    ),
    "{} of {} loops are open at the file's joint positions, the widest by {} (length) and {} rad. {} joints begin elsewhere, {}": (
        "{} von {} Schleifen sind bei den Gelenkstellungen der Datei offen, die weiteste um {} (Länge) und {} rad. {} Gelenke beginnen anderswo, {}"
    ),
    "where all are closed": "wo alle geschlossen sind",
    "The closed loop of the {} joints {} has no degree of freedom: their bones are locked where the loop is closed": (
        "Die geschlossene Schleife der {} Gelenke {} hat keinen Freiheitsgrad: Ihre Knochen sind dort gesperrt, wo sie geschlossen ist"
    ),
    "as near as can be, which leaves {}": "so nah wie möglich, was {} lässt",
    # building and editing
    "Bars of these lengths cannot be closed: the longest is longer than the others together": (
        "Stäbe dieser Längen schließen sich nicht: der längste ist länger als die anderen zusammen"
    ),
    "The rod has to be longer than the crank": "Die Stange muss länger sein als die Kurbel",
    "A walker has an even number of legs": "Ein Läufer hat eine gerade Zahl von Beinen",
    "The scene is animated and stays at {} frames per second; servos under physics are controlled once per frame, and {} are better (Bake Simulation sees to that by itself)": (
        "Die Szene ist animiert und bleibt bei {} Frames je Sekunde; Servos werden unter Physik einmal je Frame geregelt, und {} sind besser (Simulation backen sorgt selbst dafür)"
    ),
    "Scene: frame rate now {} frames per second (it was {})": "Szene: Bildrate jetzt {} Frames je Sekunde (vorher {})",
    "Scene: last frame now {} (it was {})": "Szene: letztes Frame jetzt {} (vorher {})",
    "Scene: gravity now {} (it was {})": "Szene: Schwerkraft jetzt {} (vorher {})",
    "Rigid-body world: now {} substeps per frame (it was {})": (
        "Starrkörperwelt: jetzt {} Teilschritte je Frame (vorher {})"
    ),
    "Rigid-body world: now {} solver iterations (it was {})": "Starrkörperwelt: jetzt {} Iterationen (vorher {})",
    "{} stands farther out than {}, or nowhere": "{} steht weiter draußen als {} oder nirgends",
    "Nothing can be drawn here: {}": "Hier kann nichts gezeichnet werden: {}",
    "The mechanism has no assembly {}": "Der Mechanismus hat keine Baugruppe {}",
    "{} is no mesh: only meshes can be bodies": "{} ist kein Mesh: nur Meshes können Körper sein",
    "{} is linked from another file: make it local first (Object > Relations > Make Local)": (
        "{} ist aus einer anderen Datei verknüpft: zuerst lokal machen (Objekt > Beziehungen > Lokal machen)"
    ),
    "{} belongs to {} already": "{} gehört schon zu {}",
    "{} encloses no volume: give its mass, or make it a solid": (
        "{} umschließt kein Volumen: die Masse angeben oder einen Festkörper daraus machen"
    ),
    "{} is moved by its bone now, and no more by its own animation{}": (
        "{} wird jetzt von seinem Knochen bewegt und nicht mehr von seiner eigenen Animation{}"
    ),
    ": {} kept": ": {} behalten",
    "A joint is between two bodies: select another one": "Ein Gelenk liegt zwischen zwei Körpern: einen anderen wählen",
    "{} is no body of {}": "{} ist kein Körper von {}",
    "No ring is selected: select an edge loop, or the points of a circle, in edit mode on either body": (
        "Kein Ring ist ausgewählt: im Bearbeitungsmodus an einem der Körper eine Kantenschleife oder die Punkte eines Kreises auswählen"
    ),
    "No face is active: select one in edit mode, on either body, and come back": (
        "Keine Fläche ist aktiv: im Bearbeitungsmodus an einem der Körper eine auswählen und zurückkommen"
    ),
    "The nearest points are between two bodies: select both": (
        "Die nächsten Punkte liegen zwischen zwei Körpern: beide auswählen"
    ),
    "{} or {} has no faces": "{} oder {} hat keine Flächen",
    "{} is not between two bodies": "{} liegt nicht zwischen zwei Körpern",
    "{} is free and begins away from zero: move its bodies together first": (
        "{} ist frei und beginnt fern von null: zuerst seine Körper zusammenbringen"
    ),
    "Bones {}: channels that are no degree of freedom of their joints were reset": "Knochen {}: Kanäle, die kein "
    "Freiheitsgrad ihrer Gelenke sind, sind zurückgesetzt",
    "Keyframes: body {} is {} (length) and {}° off at frame {}, the most of {}. Key the joints anew there; the present "
    "frame is held": "Keyframes: Körper {} steht um {} (Länge) und {}° anders in Frame {}, am weitesten von {}. Das "
    "Gelenk dort neu keyen; der jetzige Frame ist gehalten",
    "Select bodies or joints of the mechanism to delete them": "Körper oder Gelenke des Mechanismus zum Löschen auswählen",
    "{} joins the limb to another part: its copy has none": (
        "{} verbindet das Glied mit einem anderen Teil: seine Kopie hat keines"
    ),
    "All bodies are selected: leave at least one to the mechanism that there is": (
        "Alle Körper sind ausgewählt: dem vorhandenen Mechanismus mindestens einen lassen"
    ),
    "{} is scaled as a whole: set its scale to 1 before they are merged": (
        "{} ist als Ganzes skaliert: vor dem Zusammenführen die Skalierung auf 1 setzen"
    ),
    "{} frames and lights of {} have no place in {}": "{} Rahmen und Lichter von {} haben in {} keinen Platz",
    "{} does not take over of {}: {}": "{} übernimmt von {} nicht: {}",
    "Not set, nothing keys it: {}": "Nicht gesetzt, nichts keyt es: {}",
    "Not set, the motion does not move it: {}": "Nicht gesetzt, die Bewegung bewegt es nicht: {}",
    "Not set, its file keeps no stops for it: {}": "Nicht gesetzt, seine Datei hält dafür keine Anschläge: {}",
    "Not set, it stands at its {} stop, or beyond: {}": (
        "Nicht gesetzt, es steht an seinem Anschlag ({}) oder jenseits davon: {}"
    ),
    "None of the joints has a bone of its own to move: a loop's joints follow what drives it": (
        "Keines der Gelenke hat einen eigenen Knochen: die Gelenke einer Schleife folgen dem, was sie treibt"
    ),
    "The collection of {} was deleted: it holds what belongs to the mechanism": (
        "Die Sammlung von {} wurde gelöscht: Sie hält, was zum Mechanismus gehört"
    ),
    "The collection of {} is in no scene": "Die Sammlung von {} ist in keiner Szene",
    "Collection {} holds no mechanism: its armature is missing. Rebuild Missing Parts takes it back": (
        "Sammlung {} enthält keinen Mechanismus: sein Armature fehlt. „Fehlende Teile neu bauen“ holt es zurück"
    ),
    "The mechanism has lost its collection: Rebuild Missing Parts makes it anew": (
        "Der Mechanismus hat seine Sammlung verloren: „Fehlende Teile neu bauen“ macht sie neu"
    ),
    "a body of {}": "ein Körper von {}",
    "{} is in none of the model's collections: physics and posing do not know it": (
        "{} ist in keiner Sammlung des Modells: Physik und Pose kennen es nicht"
    ),
    "Body {} is sheared, which no file can hold: apply the scale of what it hangs on": (
        "Der Körper {} ist geschert, was keine Datei halten kann: die Skalierung dessen anwenden, woran er hängt"
    ),
    "It is in the model's collection again": "Es ist wieder in der Sammlung des Modells",
    "The constraints of {} put it elsewhere than files have it ({}): Object > Apply > Visual Transform takes what is seen": (
        "Die Constraints von {} setzen es anderswohin, als Dateien es haben ({}): Objekt > Anwenden > Visuelle Transformation übernimmt, was zu sehen ist"
    ),
    "What modifiers make of {} is in no file ({}): apply them and take the mesh as its shape": (
        "Was Modifikatoren aus {} machen, ist in keiner Datei ({}): sie anwenden und das Mesh als seine Form nehmen"
    ),
    "What {} is instanced on is in no file: Object > Apply > Make Instances Real, then Make Body": (
        "Was {} instanziert, ist in keiner Datei: Objekt > Anwenden > Instanzen real machen, dann Körper machen"
    ),
    "The armature of {} was deleted: Rebuild Missing Parts takes it back": (
        "Das Skelett von {} wurde gelöscht: „Fehlende Teile neu bauen“ holt es zurück"
    ),
    "There is no mechanism in scene {}: {} is in scene {}": (
        "In der Szene {} ist kein Mechanismus: {} ist in der Szene {}"
    ),
    "{} has lost its collection: Rebuild Missing Parts makes it anew": (
        "{} hat seine Sammlung verloren: „Fehlende Teile neu bauen“ macht sie neu"
    ),
    "{} more of this kind ({}) are not listed": "{} weitere dieser Art ({}) sind nicht aufgeführt",
    "Inverse kinematics: {} bones have stops that Blender's IK limits cannot hold exactly: these include 0 and lie within ±180° ({}). Pose them without inverse kinematics": (
        "Inverse Kinematik: {} Knochen haben Anschläge, die Blenders IK-Grenzen nicht genau halten können: diese schließen 0 ein und liegen innerhalb ±180° ({}). Ohne inverse Kinematik posieren"
    ),
    "Its transform was applied to its mesh (Ctrl+A): the file has both where they are seen. Physics takes the origin for the center of mass: Update Armature puts it back": (
        "Seine Transformation wurde auf sein Mesh angewendet (Strg+A): Die Datei hat beide, wo sie zu sehen sind. Die Physik nimmt den Ursprung für den Schwerpunkt: Armature aktualisieren setzt ihn zurück"
    ),
    "{} {} is exactly at the origin or axes of what it hangs on, {} from where it was: Apply (Ctrl+A) and Clear move what has no mesh. The file has it there; undo that if it is not meant": (
        "{} {} liegt genau am Ursprung oder an den Achsen dessen, woran es hängt, {} entfernt von vorher: Anwenden (Strg+A) und Zurücksetzen bewegen, was kein Mesh hat. Die Datei hat es dort; rückgängig machen, wenn es nicht so gemeint ist"
    ),
}
