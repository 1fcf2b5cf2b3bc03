"""What is told of files that were written and of runs under physics."""

from __future__ import annotations

WORDS: dict[str, str] = {
    # taking out
    "{} is no part of the mechanism and was left out": "{} ist kein Teil des Mechanismus und wurde weggelassen",
    "Its moments of inertia go with its mass": "Seine Trägheitsmomente gehen mit seiner Masse",
    "A round shape stays round; its larger side is written": (
        "Eine runde Form bleibt rund; ihre größere Seite wird geschrieben"
    ),
    "{} {} is new{}": "{} {} ist neu{}",
    ", a copy of {}": ", eine Kopie von {}",
    "{} {} was deleted": "{} {} wurde gelöscht",
    "Frame {} was deleted, and stays in Shift files: {} is at it": (
        "Frame {} wurde gelöscht und bleibt in Shift-Dateien: {} ist daran"
    ),
    "{} {} is new": "{} {} ist neu",
    "Joint {} went with its body": "Gelenk {} ging mit seinem Körper",
    "Restraint {} went with what it acts on": "Kraftelement {} ging mit dem, worauf es wirkt",
    "{} meshes were written into {}": "{} Meshes wurden nach {} geschrieben",
    "{} is a copy, or another body's collision shape, and was left out": (
        "{} ist eine Kopie oder die Kollisionsform eines anderen Körpers und wurde weggelassen"
    ),
    "A collision shape of {} was deleted ({})": "Eine Kollisionsform von {} wurde gelöscht ({})",
    # physics
    "The simulation diverged: its accuracy cannot be measured": (
        "Die Simulation ist entgleist: ihre Genauigkeit lässt sich nicht messen"
    ),
    "Under physics bodies of one skeleton or system do not collide with each other, as in the file's own program. Self-Collision under Simulation > Settings switches that": (
        "Unter Physik stoßen Körper eines Skeletts oder Systems nicht aneinander, wie im Programm der Datei. Selbstkollision unter Simulation > Einstellungen schaltet das"
    ),
    "Bodies of the model collide with each other under physics, which they do not in its own program: more than {} pairs are too many to keep apart": (
        "Körper des Modells stoßen unter Physik aneinander, was sie im eigenen Programm nicht tun: mehr als {} Paare sind zu viele, um sie auseinanderzuhalten"
    ),
    "Physics begins at frame {}: a run to frame {} has no frames": (
        "Die Physik beginnt in Frame {}: ein Lauf bis Frame {} hat keine Frames"
    ),
    "Physics has no bodies without a mass above 0: {} would be some, and count as {}. Give them masses and use Add Rigid Bodies again": (
        "Die Physik kennt keine Körper ohne Masse über 0: {} wäre einer und zählt {}. Massen angeben und Starrkörper hinzufügen erneut benutzen"
    ),
    "Blender's physics has no mass below {}: {} would be lighter, and count as that. Multiply all masses, moments of inertia, forces, stiffness, damping and friction of the model by one large factor: it then moves as it should": (
        "Blenders Physik kennt keine Masse unter {}: {} wäre leichter und zählt so viel. Alle Massen, Trägheitsmomente, Kräfte, Steifigkeiten, Dämpfungen und Reibungen des Modells mit einem großen Faktor malnehmen: dann bewegt es sich, wie es soll"
    ),
    "Blender takes inertia from collision shapes: {} of {} bodies carry a hidden flywheel under physics that gives them the file's. What is left is {} of the largest moment at most": (
        "Blender nimmt die Trägheit aus Kollisionsformen: {} von {} Körpern tragen unter Physik ein verborgenes Schwungrad, das ihnen die der Datei gibt. Übrig bleibt höchstens {} des größten Moments"
    ),
    "Physics pulls all bodies down, also those that the file leaves out of gravity: {}": (
        "Die Physik zieht alle Körper nach unten, auch die, die die Datei von der Schwerkraft ausnimmt: {}"
    ),
    "{} ({} here)": "{} ({} hier)",
    "Joints between bodies of very different mass come apart under physics: {} here join masses of more than 1 to {}, the worst of 1 to {}": (
        "Gelenke zwischen Körpern sehr verschiedener Masse gehen unter Physik auseinander: {} hier verbinden Massen von mehr als 1 zu {}, das schlimmste von 1 zu {}"
    ),
    "The restraint is too stiff for what it moves: that would swing {} rad in a frame, and physics, which sets its force once a frame, can do {}. It pulls with {} of its force; with {} times the frames per second it has all of it": (
        "Das Kraftelement ist zu steif für das, was es bewegt: das schwänge {} rad je Frame, und die Physik, die seine Kraft einmal je Frame setzt, kann {}. Es zieht mit {} seiner Kraft; mit {}-mal so vielen Frames je Sekunde hat es die ganze"
    ),
    "Physics takes restraints as forces that restrain ({}): where their formula is positive they push the coordinate down, or their two places together; the format does not say which way": (
        "Die Physik nimmt Kraftelemente als Kräfte, die zurückhalten ({}): wo ihre Formel positiv ist, drücken sie die Koordinate hinunter oder ihre zwei Orte zusammen; das Format sagt nicht, wohin"
    ),
    "Physics leaves this restraint out: {}": "Die Physik lässt dieses Kraftelement weg: {}",
    "What this joint held to was deleted during a run: physics leaves it out until the file is saved and opened again": (
        "Woran dieses Gelenk hielt, wurde während eines Laufs gelöscht: die Physik lässt es weg, bis die Datei gespeichert und wieder geöffnet ist"
    ),
    "Joints are given their first speeds in two frames, in which springs and dampers as strong as theirs do not act as they should: they go too far or not far enough": (
        "Gelenke bekommen ihre ersten Geschwindigkeiten in zwei Frames, in denen so starke Federn und Dämpfer nicht wirken, wie sie sollten: sie gehen zu weit oder nicht weit genug"
    ),
    ", this one by {} per cent": ", dieses um {} Prozent",
    ". More frames per second make that less": ". Mehr Frames je Sekunde machen das kleiner",
    "Joint separation of {}": "Gelenkabstand von {}",
    "Blender's physics knows no frames below 0: the scene begins at {}, physics at {}": (
        "Blenders Physik kennt keine Frames unter 0: die Szene beginnt bei {}, die Physik bei {}"
    ),
    "The scene has a rigid-body world already: {}": "Die Szene hat schon eine Starrkörper-Welt: {}",
    "The scene's world is not this model's: {}": "Die Welt der Szene ist nicht die dieses Modells: {}",
    "The scene's rigid-body world keeps its {} substeps per frame and {} iterations; joints hold better with {} and {} (Fit to Mechanism sets them). {}": (
        "Die Starrkörper-Welt der Szene behält ihre {} Teilschritte je Frame und {} Iterationen; Gelenke halten besser mit {} und {} (An Mechanismus anpassen setzt sie). {}"
    ),
    "The physics of the scene is fitted to the model. {}": "Die Physik der Szene ist an das Modell angepasst. {}",
    # servos and what they are taken for
    "no joint has this name": "kein Gelenk hat diesen Namen",
    "its joint has several coordinates, each with a servo of its own: {}": (
        "sein Gelenk hat mehrere Koordinaten, jede mit eigenem Servo: {}"
    ),
    "the bones, as they are set": "den Knochen, wie sie gestellt sind",
    "the gait": "dem Gang",
    "the bones, as strips have them": "den Knochen, wie die Streifen sie haben",
    "Ragdoll: the servos are off": "Ragdoll: die Servos sind aus",
    "The servos track {}. Set Target to Gait to use the inputs": (
        "Die Servos folgen {}. Ziel auf Gang stellen, um die Eingaben zu benutzen"
    ),
    # what differs between twins
    "mass": "Masse",
    "centre of mass": "Schwerpunkt",
    "inertia": "Trägheit",
    "shapes": "Formen",
    "size of its {}": "Größe ({})",
    "place of its {}": "Ort ({})",
    "degrees of freedom": "Freiheitsgrade",
    "{}: one has none": "{}: einer hat keinen",
    "place": "Ort",
    "orientation": "Ausrichtung",
    # how true a run was
    "Worst": "Max.",
    "Mean": "Mittel",
    "above": "darüber",
    "below": "darunter",
    "{}, frames {} to {}": "{}, Frames {} bis {}",
    "Frames {} to {}: {} {}": "Frames {} bis {}: {} {}",
    "Joint separation": "Gelenkabstand",
    "of a link's length": "der Länge eines Glieds",
    "Energy gained": "Energiegewinn",
    "of the largest kinetic energy": "der größten Bewegungsenergie",
    "Beyond stops": "Jenseits der Anschläge",
    "Penetration": "Durchdringung",
    "{} in {}": "{} in {}",
    "{} in the ground": "{} im Boden",
    "Tracking error": "Folgefehler",
    "Tracking error (linear)": "Folgefehler (linear)",
    # why physics does not run, or not truly
    "The physics of {} is in scene {}: go there, or clear it there first": (
        "Die Physik von {} ist in Szene {}: dorthin gehen oder sie dort zuerst entfernen"
    ),
    "The scene's rigid-body world is switched off: switch it on (Scene properties, Rigid Body World)": (
        "Die Starrkörper-Welt der Szene ist ausgeschaltet: einschalten (Szene-Eigenschaften, Starrkörper-Welt)"
    ),
    "The cache of the scene's rigid-body world is baked: delete that bake first (Rigid Body World, Cache)": (
        "Der Cache der Starrkörper-Welt der Szene ist gebacken: zuerst löschen (Starrkörper-Welt, Cache)"
    ),
    "Bake first, or play from the first frame: physics has run to frame {} only": (
        "Zuerst backen oder vom ersten Frame an abspielen: die Physik ist erst bis Frame {} gelaufen"
    ),
    "Physics ends at frame {}: bring the scene's end beyond it and play from the first frame": (
        "Die Physik endet bei Frame {}: das Ende der Szene dahinter legen und vom ersten Frame an abspielen"
    ),
    "Bake first, or play from the first frame: physics has not run to this frame as things are now": (
        "Zuerst backen oder vom ersten Frame an abspielen: so, wie alles jetzt ist, ist die Physik nicht bis zu diesem Frame gelaufen"
    ),
    "it is a {}, and neither spring nor damper nor friction": "es ist {} und weder Feder noch Dämpfer noch Reibung",
    "its distance is along {}, and not Tx, Ty or Tz": "sein Abstand ist entlang {} und nicht Tx, Ty oder Tz",
    "it acted on a body or joint that was deleted": "es wirkte auf einen Körper oder ein Gelenk, das gelöscht wurde",
    "nothing that moves is at either end": "an keinem Ende ist etwas, das sich bewegt",
    "its joint is switched off": "sein Gelenk ist ausgeschaltet",
    "its joint has not one coordinate; give it two places on bodies instead": (
        "sein Gelenk hat nicht eine Koordinate; ihm stattdessen zwei Orte an Körpern geben"
    ),
    "The model is sheared by what it is parented to: physics takes its bodies otherwise than they are drawn. Scale the parent evenly, or clear the model's parent (Alt+P)": (
        "Das Modell ist durch sein Elternobjekt geschert: die Physik nimmt seine Körper anders, als sie gezeichnet sind. Das Elternobjekt gleichmäßig skalieren oder die Elternbeziehung lösen (Alt+P)"
    ),
    "The model is scaled unevenly ({} along its axes): bodies would be bent as they turn, and physics takes them otherwise than they are drawn. Give it one scale in all directions (Alt+S clears it)": (
        "Das Modell ist ungleichmäßig skaliert ({} entlang seiner Achsen): Körper verbögen sich beim Drehen, und die Physik nimmt sie anders, als sie gezeichnet sind. Eine Skalierung in alle Richtungen geben (Alt+S setzt sie zurück)"
    ),
    "The armature's scale was applied, or its bones edited: bone {} is no longer where its body was built, and what plays is not what physics does. Undo that and keep the scale on the armature as an object (Apply Scale is not for models), or import the file again. Update Armature makes bones fit again, but leaves the bodies where that moved them": (
        "Die Skalierung des Armature wurde angewendet oder seine Knochen bearbeitet: Knochen {} ist nicht mehr, wo sein Körper gebaut wurde, und was spielt, ist nicht, was die Physik tut. Das rückgängig machen und die Skalierung am Objekt lassen (Skalierung anwenden ist nicht für Modelle) oder die Datei neu importieren. Armatur aktualisieren passt die Knochen wieder ein, lässt die Körper aber, wohin sie das versetzt hat"
    ),
    # fields that twins differ in
    "lower stop": "unterer Anschlag",
    "upper stop": "oberer Anschlag",
    "damping": "Dämpfung",
    "friction": "Reibung",
    "stiffness": "Steifigkeit",
    "armature": "Ankerträgheit",
    "gain": "Verstärkung",
    "max force": "größte Kraft",
    "actuator": "Antrieb",
    "position": "Stellung",
    "velocity": "Geschwindigkeit",
    "rest": "Ruhelage",
    # why the world is as it is
    "{} steps per second: {}. {} iterations: {}": "{} Schritte je Sekunde: {}. {} Iterationen: {}",
    "nothing of the model asks for more": "nichts am Modell verlangt mehr",
    "the joints are as soft as the file has them, and walk at this": (
        "die Gelenke sind so weich, wie die Datei sie hat, und laufen damit"
    ),
    "link {} is {} long{}, under gravity {}": "Glied {} ist {} lang{}, unter Schwerkraft {}",
    ", and counts as {}, a part of the whole": ", und zählt als {}, ein Teil des Ganzen",
    "; {} times as many for stops between unlike masses": "; {}-mal so viele für Anschläge zwischen ungleichen Massen",
    "the masses of {} are as 1 to {}": "die Massen von {} sind wie 1 zu {}",
    "the spring of {}": "die Feder von {}",
    "{} is scaled as a whole; the file keeps its own size: Alt+S clears the scale": (
        "{} ist als Ganzes skaliert; die Datei behält ihre eigene Größe: Alt+S nimmt die Skalierung weg"
    ),
    "{} stands at no number: set its location, rotation and scale anew": (
        "{} steht an keiner Zahl: Position, Rotation und Skalierung neu setzen"
    ),
    "{} is another model in the collection of {}: it goes into a file of its own": (
        "{} ist ein anderes Modell in der Sammlung von {}: es kommt in eine eigene Datei"
    ),
    "Scene {} is linked from another file, and nothing can be put into it: go to a scene of this file, or make it local (File > External Data, or the Outliner)": (
        "Szene {} ist aus einer anderen Datei verknüpft, und nichts kann hineingelegt werden: in eine Szene dieser Datei wechseln oder sie lokal machen (Datei > Externe Daten oder im Outliner)"
    ),
    "The scene's rigid-body world has its objects in collection {}, which is linked from another file and takes no more: choose another there (Scene properties, Rigid Body World), or do without physics": (
        "Die Starrkörperwelt der Szene hat ihre Objekte in der Sammlung {}, die aus einer anderen Datei verknüpft ist und nichts mehr aufnimmt: dort eine andere wählen (Szeneneigenschaften, Starrkörperwelt) oder auf Physik verzichten"
    ),
    "1 figure needs attention": "1 Wert braucht Aufmerksamkeit",
    "Simulation Accuracy has all of them": "Simulationsgenauigkeit zeigt alle",
    "{} figures need attention": "{} Werte brauchen Aufmerksamkeit",
    "All figures are good": "Alle Werte sind gut",
    "Good up to {}": "Gut bis {}",
    "Good up to {} of a link's length": "Gut bis {} einer Gliedlänge",
    "Errors": "Fehler",
    "Show errors": "Fehler zeigen",
    "Warnings": "Warnungen",
    "Show warnings": "Warnungen zeigen",
    "Info": "Hinweise",
    "Show information": "Hinweise zeigen",
}
