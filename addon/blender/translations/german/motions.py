"""Motions and names of servos."""

from __future__ import annotations

WORDS: dict[str, str] = {
    "Bake Gait": "Gang backen",
    "Write the gait as keyframes in a new Action, for the inputs as they are set or keyed": (
        "Den Gang als Keyframes in eine neue Action schreiben, mit den Eingaben, wie sie eingestellt oder animiert sind"
    ),
    "Bake Simulation": "Simulation backen",
    "Simulate from the first frame and write the result as keyframes in a new Action": (
        "Vom ersten Frame an simulieren und das Ergebnis als Keyframes in eine neue Action schreiben"
    ),
    "Remove Body Keyframes": "Körper-Keyframes entfernen",
    "Let the bodies follow the bones again. Keyframes of the servos stay": (
        "Die Körper wieder den Knochen folgen lassen. Keyframes der Servos bleiben"
    ),
    "The mechanism came without a gait": "Der Mechanismus hat keinen Gang mitgebracht",
    "The bodies follow their keyframes: set Drive to Servos or Ragdoll first": (
        "Die Körper folgen ihren Keyframes: zuerst den Antrieb auf Servos oder Ragdoll stellen"
    ),
    "The bodies have no keyframes of their own": "Die Körper haben keine eigenen Keyframes",
    "Start Frame": "Erster Frame",
    "First frame of the Action; by default the scene's": "Erster Frame der Action; sonst der der Szene",
    "End Frame": "Letzter Frame",
    "Last frame of the Action; by default the scene's": "Letzter Frame der Action; sonst der der Szene",
    "Last frame to simulate; by default the scene's. A simulation begins at the first frame": (
        "Letzter zu simulierender Frame; sonst der der Szene. Eine Simulation beginnt beim ersten Frame"
    ),
    "All Bodies": "Alle Körper",
    "Write keyframes for every body besides the servos, in a second Action": (
        "Neben den Servos Keyframes für jeden Körper schreiben, in eine zweite Action"
    ),
    "Gait baked to Action {}, frames {} to {}": "Gang in Action {} gebacken, Frames {} bis {}",
    "{} frames baked to Action {}": "{} Frames in Action {} gebacken",
    "Servos were controlled {} times per frame, and follow less closely when it is played live": (
        "Servos wurden {}-mal je Frame geregelt und folgen weniger genau, wenn es live gespielt wird"
    ),
    "The bodies follow the bones": "Die Körper folgen den Knochen",
    "The range ends (frame {}) before it begins (frame {})": (
        "Der Bereich endet (Frame {}), bevor er beginnt (Frame {})"
    ),
    "The range ends (frame {}) before the simulation begins (frame {})": (
        "Der Bereich endet (Frame {}), bevor die Simulation beginnt (Frame {})"
    ),
    "Export Servo Motion": "Servobewegung exportieren",
    "Write what the servos of the active mechanism do to a motion file": (
        "Was die Servos des aktiven Mechanismus tun, in eine Bewegungsdatei schreiben"
    ),
    "Motions": "Bewegungen",
    "Which motions to write": "Welche Bewegungen geschrieben werden",
    "What Plays": "Was gerade spielt",
    "What the servos do now: the Action, with all that acts on the pose": (
        "Was die Servos jetzt tun: die Action mit allem, was auf die Pose wirkt"
    ),
    "All Actions": "Alle Actions",
    "Every Action that keys servos of this mechanism, each as a motion of its own": (
        "Jede Action, die Servos dieses Mechanismus keyt, als eigene Bewegung"
    ),
    "Servos": "Servos",
    "Which servos to write": "Welche Servos geschrieben werden",
    "Moved": "Bewegte",
    "Those that the Action keys or that drivers and constraints move; all where there are none": (
        "Die, welche die Action keyt oder die von Treibern und Constraints bewegt werden; alle, wo es keine gibt"
    ),
    "All": "Alle",
    "Every servo, those that stand still too": "Jeder Servo, auch die stillstehenden",
    "Selected": "Ausgewählte",
    "Those whose bone, joint or body is selected": "Die, deren Knochen, Gelenk oder Körper ausgewählt ist",
    "Which keys the file gets": "Welche Keys die Datei bekommt",
    "A servo's own keys where they go straight and stand at steps of the format or came from a file; samples of the pose elsewhere: under inverse kinematics, drivers, constraints, NLA tracks, physics, and on curves": (
        "Die eigenen Keys eines Servos, wo sie gerade verlaufen und auf Schritten des Formats stehen oder aus einer Datei kamen; sonst Abtastwerte der Pose: unter inverser Kinematik, Treibern, Constraints, NLA-Spuren, Physik und auf Kurven"
    ),
    "As They Are": "Wie sie sind",
    "A servo's own keys wherever they stand, if they go straight; else samples": (
        "Die eigenen Keys eines Servos, wo immer sie stehen, wenn sie gerade verlaufen; sonst Abtastwerte"
    ),
    "Sampled": "Abgetastet",
    "Samples of the pose at every step": "Die Pose bei jedem Schritt",
    "Step": "Schritt",
    "Time between samples (ms). XMDI always has its steps of 32 ms": (
        "Zeit zwischen Abtastwerten (ms). XMDI hat immer seine Schritte von 32 ms"
    ),
    "Limit to Range": "Auf Bereich begrenzen",
    "Only a part of the motion; its first frame is time 0": "Nur ein Teil der Bewegung; ihr erster Frame ist Zeit 0",
    "Time 0 of the motion": "Zeit 0 der Bewegung",
    "The last frame that is written": "Der letzte geschriebene Frame",
    "Tolerance": "Toleranz",
    "Leave out samples that straight lines between the others pass within this (rad, or length units); 0 keeps all": (
        "Abtastwerte weglassen, an denen gerade Linien zwischen den anderen so nah vorbeigehen (rad oder Längeneinheiten); 0 behält alle"
    ),
    "Beyond Stops": "Jenseits der Anschläge",
    "What becomes of values beyond a servo's stops": "Was aus Werten jenseits der Anschläge eines Servos wird",
    "Keep": "Behalten",
    "Write them as they are and count them": "Schreiben, wie sie sind, und zählen",
    "Clamp": "Begrenzen",
    "Put them at the stop and count them": "Auf den Anschlag setzen und zählen",
    "Refuse": "Ablehnen",
    "Write nothing and tell where they are": "Nichts schreiben und sagen, wo sie sind",
    "Angles": "Winkel",
    "What angles in the file are to be in": "Worin Winkel in der Datei angegeben werden",
    "Lengths": "Längen",
    "What lengths in the file are to be in": "Worin Längen in der Datei angegeben werden",
    "Step (ms)": "Schritt (ms)",
    "End": "Ende",
    "servo": "Servo",
    "Exported {}: {}, {} s ({})": "{} exportiert: {}, {} s ({})",
    "Exported {}: {} motions": "{} exportiert: {} Bewegungen",
    "No servo is selected: select bones, joints or bodies, or choose All": (
        "Kein Servo ist ausgewählt: Knochen, Gelenke oder Körper auswählen, oder Alle nehmen"
    ),
    "No Action keys a servo of this mechanism": "Keine Action keyt einen Servo dieses Mechanismus",
    "Import Servo Motion": "Servobewegung importieren",
    "Key the servos of the active mechanism from a motion file, by their names, in a new Action": (
        "Die Servos des aktiven Mechanismus aus einer Bewegungsdatei keyen, nach ihren Namen, in einer neuen Action"
    ),
    "Servo Motion": "Servobewegung",
    "Armature of the mechanism that is to move; empty for the active one": (
        "Armatur des Mechanismus, der sich bewegen soll; leer: der aktive"
    ),
    "The frame at which the motion begins": "Der Frame, bei dem die Bewegung beginnt",
    "Scale FPS": "FPS skalieren",
    "Keep the motion's times at the scene's frame rate. Without it each step of the motion, 32 ms, is one frame": (
        "Die Zeiten der Bewegung bei der Bildrate der Szene beibehalten. Sonst wird jeder Schritt der Bewegung, 32 ms, ein Frame"
    ),
    "Update Scene FPS": "FPS der Szene anpassen",
    "Set the scene's frame rate to the motion's, so that each of its steps is one frame: 31.25 frames per second for steps of 32 ms": (
        "Die Bildrate der Szene auf die der Bewegung setzen, sodass jeder ihrer Schritte ein Frame ist: 31,25 Frames je Sekunde bei Schritten von 32 ms"
    ),
    "Update Scene Duration": "Dauer der Szene anpassen",
    "Lengthen the scene's frame range to hold the motion. It is never shortened": (
        "Den Framebereich der Szene verlängern, bis die Bewegung hineinpasst. Er wird nie gekürzt"
    ),
    "Loop": "Schleife",
    "Repeat the motion for ever, by a modifier on its curves": (
        "Die Bewegung endlos wiederholen, durch einen Modifikator auf ihren Kurven"
    ),
    "Action": "Action",
    "Where the keys go": "Wohin die Keys kommen",
    "New": "Neu",
    "Each motion becomes an Action of its own; the first plays": (
        "Jede Bewegung wird eine eigene Action; die erste spielt"
    ),
    "Present": "Vorhandene",
    "Into the Action that plays, in place of the keys that it has of the same servos within the motion's time. Everything else in it stays": (
        "In die spielende Action, anstelle ihrer Keys derselben Servos innerhalb der Zeit der Bewegung. Alles andere darin bleibt"
    ),
    "Stack in NLA": "In der NLA stapeln",
    "Initial Pose for Other Servos": "Anfangspose für andere Servos",
    "Pose the servos that the motion does not key as the mechanism's file has them begin. Without, they stay as they "
    "are posed": "Servos, für die die Bewegung keine Keyframes hat, so stellen, wie sie in der Datei des Mechanismus "
    "beginnen. Sonst bleiben sie, wie sie stehen",
    "Give each motion a track in the Nonlinear Animation editor. The first plays; the others are muted": (
        "Jeder Bewegung eine Spur im Editor für nichtlineare Animation geben. Die erste spielt; die anderen sind stumm"
    ),
    "What angles in the file are in": "Worin Winkel in der Datei angegeben sind",
    "What lengths in the file are in": "Worin Längen in der Datei angegeben sind",
    "Scene": "Szene",
    "{}; {} plays": "{}; {} spielt",
    "{} is not the armature of a mechanism in this scene": (
        "{} ist nicht die Armatur eines Mechanismus in dieser Szene"
    ),
    "motion": "Bewegung",
    "Range": "Bereich",
    "Accel.": "Beschl.",
    "Motion": "Bewegung",
    "The motion that plays; click one to let it play": "Die spielende Bewegung; ein Klick lässt eine spielen",
    "Loop…": "Wiederholen…",
    "Mirror…": "Spiegeln…",
    "Offset…": "Versetzen…",
    "Speed…": "Tempo…",
    "Click a motion to let it play": "Eine Bewegung anklicken, um sie spielen zu lassen",
    "No motion plays": "Es spielt keine Bewegung",
    "{} leaves its stops": "{} überschreitet seine Anschläge",
    "Keyed at {} frames per second: it plays at {} times its speed": (
        "Mit {} Frames je Sekunde gekeyt: Sie läuft mit {}-facher Geschwindigkeit"
    ),
    "Frames {} to {}, {}": "Frames {} bis {}, {}",
    "All servos keep within their stops": "Alle Servos bleiben innerhalb ihrer Anschläge",
    "None of its servos has stops": "Keiner ihrer Servos hat Anschläge",
    "and {}": "und {}",
    "{} s": "{} s",
    "{}: go to frame {} and select it": "{}: zu Frame {} gehen und ihn auswählen",
    "{} stops": "{} Anschläge",
    "Name in the file": "Name in der Datei",
    "Which servo?": "Welches Servo?",
    "jumps {}": "springt um {}",
    "more time": "weiteres Mal",
    "servo leaves its": "Servo überschreitet seine",
    "servos leave their": "Servos überschreiten ihre",
    "Loop Motion": "Bewegung wiederholen",
    "Repeat the motion of the mechanism, by keys or without end": (
        "Die Bewegung des Mechanismus wiederholen, durch Keys oder ohne Ende"
    ),
    "Stop Looping": "Wiederholung beenden",
    "Remove the Cycles modifiers that repeat the motion without end. Its keys stay": (
        "Die Zyklen-Modifikatoren entfernen, die die Bewegung ohne Ende wiederholen. Ihre Keys bleiben"
    ),
    "Mirror Motion": "Bewegung spiegeln",
    "Have each servo do what its twin on the other side does, as in a mirror": (
        "Jeden Servo tun lassen, was sein Zwilling auf der anderen Seite tut, wie im Spiegel"
    ),
    "Offset Motion": "Bewegung versetzen",
    "Move the motion in time": "Die Bewegung in der Zeit verschieben",
    "Scale Speed": "Tempo skalieren",
    "Play the motion faster or slower": "Die Bewegung schneller oder langsamer spielen",
    "Use Motion": "Bewegung verwenden",
    "Let the mechanism play one of its motions": "Den Mechanismus eine seiner Bewegungen spielen lassen",
    "Show Servo": "Servo zeigen",
    "Go to the frame and select the servo: its bone in pose mode, else its joint": (
        "Zum Frame gehen und den Servo auswählen: im Posenmodus seinen Knochen, sonst sein Gelenk"
    ),
    "Extend Range": "Bereich verlängern",
    "Only Selected": "Nur Ausgewählte",
    "Change the servos of the selected bones, joints and bodies alone": (
        "Nur die Servos der gewählten Knochen, Gelenke und Körper ändern"
    ),
    "Gap": "Lücke",
    "Frames from the last key to the first of the next round, where a motion does not end as it begins": (
        "Frames vom letzten Key bis zum ersten der nächsten Runde, wo eine Bewegung nicht endet, wie sie beginnt"
    ),
    "By": "Durch",
    "Repeat every key: what files can hold": "Jeden Key wiederholen: was Dateien aufnehmen können",
    "Cycles Modifier": "Zyklen-Modifikator",
    "Repeat without end, before and after, by a modifier on every curve": (
        "Ohne Ende wiederholen, davor und danach, durch einen Modifikator auf jeder Kurve"
    ),
    "Rounds": "Runden",
    "How often it plays in all": "Wie oft sie insgesamt spielt",
    "Seam": "Naht",
    "What becomes of the end of a round where the next begins": (
        "Was aus dem Ende einer Runde wird, wo die nächste beginnt"
    ),
    "Begin Again": "Neu beginnen",
    "Servos that do not end as they begin go back in the gap": (
        "Servos, die nicht enden, wie sie beginnen, gehen in der Lücke zurück"
    ),
    "Go On": "Weitergehen",
    "Each round goes on where the one before ended, as wheels do": (
        "Jede Runde geht weiter, wo die vorige endete, wie es Räder tun"
    ),
    "Blend": "Überblenden",
    "The end of a round is led to the values at its beginning": (
        "Das Ende einer Runde wird zu den Werten an ihrem Anfang geführt"
    ),
    "Frames at the end that are led back": "Frames am Ende, die zurückgeführt werden",
    "From": "Von",
    "Whose motion goes to the other side": "Wessen Bewegung auf die andere Seite kommt",
    "Both Sides": "Beide Seiten",
    "The sides change places, and what stands in the middle is mirrored": (
        "Die Seiten tauschen die Plätze, und was in der Mitte steht, wird gespiegelt"
    ),
    "Negative Side": "Negative Seite",
    "The side of smaller coordinates, as a rule the left, is copied to the other": (
        "Die Seite der kleineren Koordinaten, in der Regel die linke, wird auf die andere kopiert"
    ),
    "Positive Side": "Positive Seite",
    "The side of larger coordinates, as a rule the right, is copied to the other": (
        "Die Seite der größeren Koordinaten, in der Regel die rechte, wird auf die andere kopiert"
    ),
    "Later By": "Später um",
    "How much later the mirrored motion comes, as a share of a round: half a round for a walk": (
        "Um welchen Anteil einer Runde die gespiegelte Bewegung später kommt: beim Gehen eine halbe"
    ),
    "Round": "Runde",
    "Frames that a round takes; 0 is the length of the motion": (
        "Frames, die eine Runde dauert; 0 ist die Länge der Bewegung"
    ),
    "Mirror Axis": "Spiegelachse",
    "The axis of the file's space that is mirrored": "Die Achse des Raums der Datei, die gespiegelt wird",
    "The one that the pairs of twins show": "Die, welche die Zwillingspaare zeigen",
    "Left and right are along X": "Links und rechts liegen entlang X",
    "Left and right are along Y": "Links und rechts liegen entlang Y",
    "Left and right are along Z": "Links und rechts liegen entlang Z",
    "In": "In",
    "Frames": "Frames",
    "How much later; earlier if negative": "Wie viel später; negativ: früher",
    "Wrap": "Umlaufen",
    "What leaves the range of the motion at one end comes in at the other": (
        "Was den Bereich der Bewegung an einem Ende verlässt, kommt am anderen herein"
    ),
    "Speed": "Tempo",
    "A multiple of its speed": "Ein Vielfaches ihres Tempos",
    "Duration": "Dauer",
    "A time that it is to last": "Eine Zeit, die sie dauern soll",
    "2 is twice as fast": "2 ist doppelt so schnell",
    "Seconds from its first key to its last": "Sekunden vom ersten bis zum letzten Key",
    "About": "Um",
    "What stays where it is": "Was bleibt, wo es ist",
    "Start": "Anfang",
    "The first key of the motion": "Der erste Key der Bewegung",
    "Current Frame": "Aktueller Frame",
    "The present pose": "Die jetzige Pose",
    "Name of the Action": "Name der Action",
    "The name that motion files use": "Der Name, den Bewegungsdateien verwenden",
    "Frame": "Frame",
    "Plays {}, {} frames each, to frame {}": "Spielt {}, je {} Frames, bis Frame {}",
    "{} no longer repeated": "{} nicht mehr wiederholt",
    "{} frames {}": "{} Frames {}",
    "later": "später",
    "earlier": "früher",
    "{} times as fast: lasts {} s": "{}-mal so schnell: dauert {} s",
    "No servo is selected: select bones in pose mode, or joints, or switch off Only Selected": (
        "Kein Servo ist ausgewählt: Knochen im Posenmodus oder Gelenke auswählen, oder Nur Ausgewählte abschalten"
    ),
    "The path of {} ends in another direction than it begins: it stays as it was": (
        "Die Bahn von {} endet in anderer Richtung, als sie beginnt: sie bleibt, wie sie war"
    ),
    "The path of {} turns all the way round: it stays as it was": (
        "Die Bahn von {} dreht sich ganz herum: sie bleibt, wie sie war"
    ),
    "The path of {} has keys before or after those of the servos: it stays as it was": (
        "Die Bahn von {} hat Keys vor oder nach denen der Servos: sie bleibt, wie sie war"
    ),
    "The path of {} stays as it was: its bone is not turned by quaternions": (
        "Die Bahn von {} bleibt, wie sie war: ihr Knochen wird nicht durch Quaternionen gedreht"
    ),
    "The path of {} stays as it was: some of its curves are muted": (
        "Die Bahn von {} bleibt, wie sie war: einige ihrer Kurven sind stumm"
    ),
    "The path of {} stays as it was, as that of {} does": "Die Bahn von {} bleibt, wie sie war, wie auch die von {}",
    "The path of {} stays as it was: nothing mirrors its root": (
        "Die Bahn von {} bleibt, wie sie war: nichts spiegelt ihre Wurzel"
    ),
    "Renamed servos go out under the names of the motion's file: {}": (
        "Umbenannte Servos gehen unter den Namen der Bewegungsdatei hinaus: {}"
    ),
    "Their curves are muted and count for nothing: {}": "Ihre Kurven sind stumm und zählen nicht: {}",
    "Repeats every {} frames": "Wiederholt sich alle {} Frames",
    "No Action called {} keys a servo of {}": "Keine Action namens {} keyt einen Servo von {}",
    "{} has no servo called {}": "{} hat keinen Servo namens {}",
    "{} cannot be selected: it is hidden": "{} lässt sich nicht auswählen: verborgen",
    "time": "Mal",
    "curve": "Kurve",
    "Add Servo Name": "Servonamen hinzufügen",
    "Remove Servo Name": "Servonamen entfernen",
    "List Unmatched Servos": "Unbekannte Servos auflisten",
    "Key Them Now": "Jetzt keyen",
    "Servo Names": "Servonamen",
    "The list is empty": "Die Liste ist leer",
    "The Action that plays was not imported from a motion file": (
        "Die spielende Action kam nicht aus einer Bewegungsdatei"
    ),
    "The name in motion files": "Der Name in Bewegungsdateien",
    "The model's servo": "Der Servo des Modells",
    "{} of the file {} nothing here": "{} der Datei {} hier nichts",
    "moves": "bewegt",
    "move": "bewegen",
    "{} keyed": "{} gekeyt",
    "Names in motion files, and the servos they mean": "Namen in Bewegungsdateien und die Servos, die sie meinen",
    "List Unmatched": "Unbekannte auflisten",
    "{} has no servo {}": "{} hat keinen Servo {}",
    "Leave Out": "Auslassen",
    "The servo of this name is to move nothing here": "Der Servo dieses Namens soll hier nichts bewegen",
    "The model's servo that this name means; empty while nobody has said": (
        "Der Servo des Modells, den dieser Name meint; leer, solange es niemand gesagt hat"
    ),
    "Bake": "Backen",
    "Attributes": "Attribute",
}
