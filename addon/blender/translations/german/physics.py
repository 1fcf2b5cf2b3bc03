"""Panels, joints, drive and world."""

from __future__ import annotations

WORDS: dict[str, str] = {
    "Set Drive": "Antrieb wählen",
    "Choose who moves the bodies of the mechanism: its keys, its servos, or gravity alone": (
        "Wählen, wer die Körper des Mechanismus bewegt: seine Keys, seine Servos oder allein die Schwerkraft"
    ),
    "Velocity": "Geschwindigkeit",
    "Build Physics": "Physik aufbauen",
    "Make the rigid bodies and constraints of the mechanism, and those that an edit left missing": (
        "Die Starrkörper und Constraints des Mechanismus anlegen, auch die, die nach einer Änderung fehlen"
    ),
    "Clear Physics": "Physik entfernen",
    "Remove the rigid bodies and constraints of the mechanism. Its joints keep their settings": (
        "Starrkörper und Constraints des Mechanismus entfernen. Seine Gelenke behalten ihre Einstellungen"
    ),
    "Select Part": "Teil auswählen",
    "Select a joint or body of the mechanism: its bone in pose mode, else its object": (
        "Ein Gelenk oder einen Körper des Mechanismus auswählen: im Posenmodus den Knochen, sonst das Objekt"
    ),
    "Select Worst Joints": "Schlechteste Gelenke auswählen",
    "Select the joints that came apart most in the run that was baked last": (
        "Die Gelenke auswählen, die im zuletzt gebackenen Lauf am weitesten auseinandergingen"
    ),
    "Drive Loop from Here": "Schleife von hier antreiben",
    "Have this joint drive the loop that it lies on; another that did follows in its place": (
        "Dieses Gelenk die Schleife antreiben lassen, auf der es liegt; ein anderes folgt an seiner Stelle"
    ),
    "Fit to Model": "An Modell anpassen",
    "Set the steps per frame and the iterations of the scene's physics to what its mechanisms need to stay together: by their smallest links, their masses and their springs": (
        "Schritte je Frame und Iterationen der Szenenphysik so einstellen, dass ihre Mechanismen zusammenhalten: nach kleinsten Gliedern, Massen und Federn"
    ),
    "Clean Up": "Aufräumen",
    "Remove the ground, the motors and the rigid-body world that deleted mechanisms left behind": (
        "Boden, Motoren und Starrkörperwelt entfernen, die gelöschte Mechanismen hinterlassen haben"
    ),
    "The mechanism has no bodies": "Der Mechanismus hat keine Körper",
    "The mechanism has no physics to clear": "Der Mechanismus hat keine Physik, die man entfernen könnte",
    "Go to object mode or pose mode to select parts": (
        "Zum Auswählen von Teilen in den Objekt- oder Posenmodus wechseln"
    ),
    "Bake Physics first: no run of the mechanism is known": (
        "Zuerst Physik backen: es ist noch kein Lauf des Mechanismus bekannt"
    ),
    "Build the physics of the mechanism first": "Zuerst die Physik des Mechanismus aufbauen",
    "Drive": "Antrieb",
    "Keys": "Keys",
    "The bodies follow the bones exactly": "Die Körper folgen den Knochen genau",
    "Servo": "Servo",
    "The bodies are under physics; each servo chases its target within its force": (
        "Die Körper unterliegen der Physik; jeder Servo jagt sein Ziel mit seiner Kraft"
    ),
    "Limp": "Schlaff",
    "The bodies are under physics and the servos are off": (
        "Die Körper unterliegen der Physik, und die Servos sind aus"
    ),
    "Part": "Teil",
    "Name of the object of the joint or body": "Name des Objekts des Gelenks oder Körpers",
    "Extend": "Erweitern",
    "Keep what is selected": "Die bisherige Auswahl behalten",
    "Name of the joint's object; the active joint if empty": "Name des Gelenkobjekts; leer: das aktive Gelenk",
    "Physics built: {}": "Physik aufgebaut: {}",
    "Physics cleared": "Physik entfernt",
    "Physics cleared, and the world's baked cache freed": (
        "Physik entfernt und der gebackene Zwischenspeicher der Welt freigegeben"
    ),
    "{} selected": "{} ausgewählt",
    "The loop is driven by {}": "Die Schleife wird von {} angetrieben",
    "{} removed": "{} entfernt",
    "{} has no joint or body called {}": "{} hat kein Gelenk und keinen Körper namens {}",
    "{} cannot be selected: it is hidden, or has no bone": (
        "{} lässt sich nicht auswählen: verborgen oder ohne Knochen"
    ),
    "The worst joints cannot be selected: they are hidden, or have no bone": (
        "Die schlechtesten Gelenke lassen sich nicht auswählen: verborgen oder ohne Knochen"
    ),
    "{} has no joint called {}": "{} hat kein Gelenk namens {}",
    "Select a joint": "Ein Gelenk auswählen",
    "No deleted mechanism has left anything behind": "Kein gelöschter Mechanismus hat etwas hinterlassen",
    "rigid body": "Starrkörper",
    "rigid bodies": "Starrkörper",
    "constraint": "Constraint",
    "object": "Objekt",
    "World": "Welt",
    "Truth Report": "Wahrheitsbericht",
    "Controls": "Steuerung",
    "Joints and Stops": "Gelenke und Anschläge",
    "Report": "Bericht",
    "Assemblies": "Baugruppen",
    "Gravity": "Schwerkraft",
    "Substeps": "Teilschritte",
    "Iterations": "Iterationen",
    "Time Step": "Zeitschritt",
    "Physics Step": "Physikschritt",
    "Physics has the scene's gravity, below: its world is not this model's": (
        "Für die Physik gilt die Schwerkraft der Szene, unten: ihre Welt ist nicht die dieses Modells"
    ),
    "Chases": "Jagt",
    "0 = no force": "0 = keine Kraft",
    "0 = no limit": "0 = unbegrenzt",
    "Pause": "Pause",
    "Play": "Abspielen",
    "Came apart most, of a link's length": "Am weitesten auseinander, in Gliedlängen",
    "Drop a model file into the view, or import one": "Eine Modelldatei in die Ansicht ziehen oder eine importieren",
    "Bodies": "Körper",
    "Joints": "Gelenke",
    "Import…": "Importieren…",
    "Export…": "Exportieren…",
    "joint was moved": "Gelenk wurde bewegt",
    "joints were moved": "Gelenke wurden bewegt",
    "{}: the bones still turn where they were": "{}: die Knochen drehen noch, wo sie waren",
    "First Frame": "Erster Frame",
    "Servos are controlled once per frame: {} per second are few": (
        "Servos werden einmal je Frame geregelt: {} je Sekunde sind wenige"
    ),
    "Inactive: the joint lacks a body, or joins a body to itself": (
        "Inaktiv: dem Gelenk fehlt ein Körper, oder es verbindet einen mit sich selbst"
    ),
    "Make Film": "Film machen",
    "Import Mechanism…": "Mechanismus importieren…",
    "Bake Physics tells how well the run kept to the mechanism": (
        "Physik backen sagt, wie gut der Lauf dem Mechanismus entsprach"
    ),
    "The model listens to no control": "Das Modell hört auf keine Steuerung",
    "The model has lost its joints": "Das Modell hat seine Gelenke verloren",
    "Select a joint or a bone": "Ein Gelenk oder einen Knochen auswählen",
    "Closes a loop: it has no bone, its value follows from the others": (
        "Schließt eine Schleife: es hat keinen Knochen, sein Wert folgt aus den anderen"
    ),
    "Value": "Wert",
    "Nothing to report": "Nichts zu berichten",
    "Locked: its loop has no degree of freedom": "Gesperrt: seine Schleife hat keinen Freiheitsgrad",
    "Follows its loop: other joints of the loop drive it": (
        "Folgt seiner Schleife: andere Gelenke der Schleife treiben es an"
    ),
    "Turns freely ({})": "Dreht frei ({})",
    "line": "Zeile",
    "Shape": "Form",
    "Pose": "Pose",
    "Visual": "Sichtbar",
    "Collision": "Kollision",
    "Colour": "Farbe",
    "Mesh File": "Mesh-Datei",
    "Lower Stop": "Anschlag ab",
    "Stop the joint at its lower limit": "Das Gelenk an seiner unteren Grenze anhalten",
    "Lower": "Unten",
    "Smallest servo value": "Kleinster Servowert",
    "Upper Stop": "Anschlag bis",
    "Stop the joint at its upper limit": "Das Gelenk an seiner oberen Grenze anhalten",
    "Upper": "Oben",
    "Largest servo value": "Größter Servowert",
    "Smallest servo angle": "Kleinster Servowinkel",
    "Largest servo angle": "Größter Servowinkel",
    "Position": "Stellung",
    "Servo value (rad or m) in the file, where the model begins": (
        "Servowert (rad oder m) in der Datei, mit dem das Modell beginnt"
    ),
    "Servo speed at the start (rad/s or m/s): a run under physics begins with it": (
        "Geschwindigkeit des Servos zu Beginn (rad/s oder m/s): ein Lauf unter Physik beginnt damit"
    ),
    "What brakes the joint in proportion to its speed: torque per rad/s, or force per m/s (N m s/rad, or N s/m)": (
        "Was das Gelenk im Verhältnis zu seiner Geschwindigkeit bremst: Drehmoment je rad/s oder Kraft je m/s (N m s/rad, oder N s/m)"
    ),
    "Dry friction of the joint: the torque or force that brakes it at any speed (N m or N)": (
        "Trockene Reibung des Gelenks: Drehmoment oder Kraft, die es bei jeder Geschwindigkeit bremst (N m oder N)"
    ),
    "The joint's spring: torque per rad, or force per m, back to its Spring Rest (N m/rad or N/m)": (
        "Die Feder des Gelenks: Drehmoment je rad oder Kraft je m, zurück in ihre Ruhelage (N m/rad oder N/m)"
    ),
    "Servo value (rad or m) at which the joint's spring does not push": (
        "Servowert (rad oder m), bei dem die Feder des Gelenks nicht drückt"
    ),
    "Damping": "Dämpfung",
    "Friction": "Reibung",
    "Stiffness": "Steifigkeit",
    "Spring Rest": "Ruhelage der Feder",
    "Armature Inertia": "Ankerträgheit",
    "Gain": "Verstärkung",
    "How hard the servo corrects its error (Juice's law)": (
        "Wie stark der Servo seinen Fehler ausgleicht (Gesetz von Juice)"
    ),
    "Maximum Force": "Höchste Kraft",
    "Largest torque or force that the servo may use; 0 is none in a Juice model, no limit in others (N m or N)": (
        "Größtes Drehmoment oder größte Kraft des Servos; 0 ist in einem Juice-Modell keine, in anderen unbegrenzt (N m oder N)"
    ),
    "What the servo pushes with per rad or m of its error under PD. With the damping 0 as well, both are chosen for what the servo moves": (
        "Womit der Servo je rad oder m seines Fehlers unter PD drückt. Ist auch die Dämpfung 0, so werden beide passend zu dem gewählt, was er bewegt"
    ),
    "What the servo pushes with per rad/s or m/s of its error under PD (N m s/rad, or N s/m)": (
        "Womit der Servo je rad/s oder m/s seines Fehlers unter PD drückt (N m s/rad, oder N s/m)"
    ),
    "Actuator": "Antriebsart",
    "File Sign": "Vorzeichen der Datei",
    "Pitch": "Steigung",
    "How far a screw slides along its axis for every radian": (
        "Wie weit eine Schraube je Radiant entlang ihrer Achse gleitet"
    ),
    "Coordinates of a ball or free block at the start": "Koordinaten eines Kugel- oder freien Blocks zu Beginn",
    "Parent": "Eltern",
    "The body that stays": "Der Körper, der bleibt",
    "Child": "Kind",
    "The body that a positive value moves": "Der Körper, den ein positiver Wert bewegt",
    "Active": "Aktiv",
    "Closes a Loop": "Schließt eine Schleife",
    "Follows": "Folgt",
    "It lies on a loop that other joints drive: its bone goes where the loop closes": (
        "Es liegt auf einer Schleife, die andere Gelenke antreiben: sein Knochen geht dorthin, wo die Schleife schließt"
    ),
    "Motor": "Motor",
    "Role": "Rolle",
    "The name that files and motions use": "Der Name, den Dateien und Bewegungen verwenden",
    "Id": "Kennung",
    "The id in the file": "Die Kennung in der Datei",
    "Id of the part that mirrors this one": "Kennung des Teils, der diesen spiegelt",
    "Immobile": "Unbeweglich",
    "Mass of the body (kg)": "Masse des Körpers (kg)",
    "Joint Id": "Kennung des Gelenks",
    "Root Body Id": "Kennung des Wurzelkörpers",
    "Joystick 1 X": "Joystick 1 X",
    "Left and right": "Links und rechts",
    "Joystick 1 Y": "Joystick 1 Y",
    "-1 is forward": "-1 ist vorwärts",
    "Joystick 1 Z": "Joystick 1 Z",
    "Throttle": "Schub",
    "Joystick 1 R": "Joystick 1 R",
    "Twist": "Drehung",
    "Joystick 2 X": "Joystick 2 X",
    "Joystick 2 Y": "Joystick 2 Y",
    "Joystick 2 Z": "Joystick 2 Z",
    "Joystick 2 R": "Joystick 2 R",
    "Keys Up and Down": "Tasten auf und ab",
    "-1 is the up key, 1 the down key": "-1 ist die Taste nach oben, 1 die nach unten",
    "Keys Left and Right": "Tasten links und rechts",
    "-1 is the left key, 1 the right key": "-1 ist die Taste nach links, 1 die nach rechts",
    "On": "Ein",
    "Make these two twins": "Diese beiden zu Zwillingen machen",
    "Document": "Dokument",
    "The imported text": "Der importierte Text",
    "Who moves the bodies": "Wer die Körper bewegt",
    "Target": "Ziel",
    "What the servos chase": "Was die Servos jagen",
    "The gait while its own Action plays, else the keys of the bones": (
        "Der Gang, solange seine eigene Action spielt, sonst die Keys der Knochen"
    ),
    "The gait of the model, live, with its controls and the feedback of its bodies": (
        "Der Gang des Modells, live, mit seiner Steuerung und der Rückmeldung seiner Körper"
    ),
    "The values of the bones": "Die Werte der Knochen",
    "Servo Law": "Servogesetz",
    "How a servo goes after its target": "Wie ein Servo seinem Ziel nachgeht",
    "Juice's law for a gait, Track for keys": "Für einen Gang das Gesetz von Juice, für Keys Verfolgen",
    "Juice": "Juice",
    "Speed in proportion to the error times the servo's Gain, as Juice does": (
        "Geschwindigkeit im Verhältnis zum Fehler mal der Verstärkung des Servos, wie bei Juice"
    ),
    "Track": "Verfolgen",
    "As tightly as the solver allows, with the speed of the keys fed forward": (
        "So straff, wie es der Löser erlaubt, mit vorgegebener Geschwindigkeit der Keys"
    ),
    "PD": "PD",
    "Torque k (q* - q) + d (dq* - dq), as springs and dampers have it; a jump of the keys has no speed": (
        "Moment k (q* - q) + d (dq* - dq), wie bei Federn und Dämpfern; ein Sprung der Keys hat keine Geschwindigkeit"
    ),
    "Speed of the gait, 1 is the file's standard": "Tempo des Gangs, 1 ist das übliche der Datei",
    "Standard Speed": "Standardtempo",
    "Cycles per minute of the engine": "Umläufe des Triebwerks je Minute",
    "Pose Delay": "Haltezeit",
    "Seconds before the engine starts": "Sekunden, bevor das Triebwerk anläuft",
    "Pose Phase": "Haltephase",
    "Engine phase during the delay, in degrees": "Phase des Triebwerks während der Haltezeit, in Grad",
    "The gravity of the model's file, which goes out again with it. Physics has the scene's gravity: this sets it where the model was the first to need a rigid-body world": (
        "Die Schwerkraft der Datei des Modells, die mit ihm wieder hinausgeht. Für die Physik gilt die Schwerkraft der Szene: diese hier bestimmt sie, wo das Modell als erstes eine Starrkörperwelt brauchte"
    ),
    "Friction of the model's bodies. In a Juice model the largest force of a contact; in others Coulomb's coefficient, 0 for the usual one": (
        "Reibung der Körper des Modells. In einem Juice-Modell die größte Kraft eines Kontakts; in anderen der Coulombsche Beiwert, 0 für den üblichen"
    ),
    "ERP": "ERP",
    "Share of a joint's error that is corrected per step of the file's program": (
        "Anteil des Fehlers eines Gelenks, der je Schritt des Programms der Datei behoben wird"
    ),
    "CFM": "CFM",
    "Softness of the joints; 0 is rigid": "Weichheit der Gelenke; 0 ist starr",
    "Time step of the file's own program, which the softness is given for": (
        "Zeitschritt des Programms der Datei, auf den sich die Weichheit bezieht"
    ),
    "File's Inertia": "Trägheit der Datei",
    "Give bodies the file's moments of inertia under physics, by hidden flywheels where their collision shapes have others. Takes effect when physics is built": (
        "Körpern unter Physik die Trägheitsmomente der Datei geben, durch verborgene Schwungräder, wo ihre Kollisionsformen andere haben. Wirkt, wenn die Physik aufgebaut wird"
    ),
    "Under physics, have a ground at height 0. The scene has one for all mechanisms that want it": (
        "Unter Physik einen Boden in Höhe 0 haben. Die Szene hat einen für alle Mechanismen, die ihn wollen"
    ),
    "Self-Collision": "Selbstkollision",
    "Whether bodies of one assembly that no joint joins collide with each other": (
        "Ob Körper einer Baugruppe, die kein Gelenk verbindet, zusammenstoßen"
    ),
    "Symmetrical Editing": "Symmetrisch bearbeiten",
    "What is moved, turned, resized, renamed or set on one half is done to its twin as well": (
        "Was an einer Hälfte bewegt, gedreht, skaliert, umbenannt oder eingestellt wird, geschieht auch ihrem Zwilling"
    ),
    "Collision Shapes": "Kollisionsformen",
    "Show, as wires, what bodies collide with where that is not what they look like": (
        "Als Drahtgitter zeigen, womit Körper zusammenstoßen, wo das nicht ist, wie sie aussehen"
    ),
    "Have Bake Physics key every body besides the servos, so that it plays where physics had it": (
        "Physik backen neben den Servos jeden Körper keyen lassen, sodass alles spielt, wo die Physik es hatte"
    ),
    "What motions call servos of this model": "Wie Bewegungen Servos dieses Modells nennen",
}
