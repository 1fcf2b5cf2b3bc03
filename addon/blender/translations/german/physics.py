"""Panels, joints, drive and world."""

from __future__ import annotations

WORDS: dict[str, str] = {
    "Set Drive": "Antrieb wählen",
    "Choose the source of the bodies' motion: keyframes, servos, or gravity alone": (
        "Wählen, woher die Bewegung der Körper kommt: Keyframes, Servos oder allein die Schwerkraft"
    ),
    "Display of the bones while physics moves the bodies": (
        "Anzeige der Knochen, während die Physik die Körper bewegt"
    ),
    "Hidden": "Ausgeblendet",
    "Bones are hidden while physics moves the bodies": (
        "Knochen sind ausgeblendet, während die Physik die Körper bewegt"
    ),
    "Target Pose": "Zielpose",
    "Bones show the pose that the servos track": "Knochen zeigen die Pose, der die Servos folgen",
    "Lock the 3D views to the root body of the mechanism, or unlock them": (
        "Die 3D-Ansichten an den Wurzelkörper des Mechanismus binden oder von ihm lösen"
    ),
    "Bones": "Knochen",
    "Velocity": "Geschwindigkeit",
    "Add Rigid Bodies": "Starrkörper hinzufügen",
    "Add the rigid bodies and constraints of the mechanism, and those that an edit left missing": (
        "Die Starrkörper und Constraints des Mechanismus anlegen, auch die, die nach einer Änderung fehlen"
    ),
    "Remove Rigid Bodies": "Starrkörper entfernen",
    "Remove the rigid bodies and constraints of the mechanism. Its joints keep their settings": (
        "Starrkörper und Constraints des Mechanismus entfernen. Seine Gelenke behalten ihre Einstellungen"
    ),
    "Select Part": "Teil auswählen",
    "Select a joint or body of the mechanism: its bone in pose mode, else its object": (
        "Ein Gelenk oder einen Körper des Mechanismus auswählen: im Posenmodus den Knochen, sonst das Objekt"
    ),
    "Select Worst Joints": "Schlechteste Gelenke auswählen",
    "Select the joints with the largest separation in the last baked simulation": (
        "Die Gelenke mit dem größten Abstand in der zuletzt gebackenen Simulation auswählen"
    ),
    "Make Input Joint": "Zum Eingangsgelenk machen",
    "Make this joint an input of its closed loop; another input joint becomes dependent": (
        "Dieses Gelenk zum Eingang seiner geschlossenen Schleife machen; ein anderes Eingangsgelenk wird abhängig"
    ),
    "Fit to Mechanism": "An Mechanismus anpassen",
    "Set substeps and iterations of the scene to what its mechanisms need to stay together": (
        "Teilschritte und Iterationen der Szene so einstellen, dass ihre Mechanismen zusammenhalten"
    ),
    "Clean Up": "Aufräumen",
    "Remove the ground, the motors and the rigid-body world that deleted mechanisms left behind": (
        "Boden, Motoren und Starrkörperwelt entfernen, die gelöschte Mechanismen hinterlassen haben"
    ),
    "The mechanism has no bodies": "Der Mechanismus hat keine Körper",
    "The mechanism has no rigid bodies to remove": "Der Mechanismus hat keine Starrkörper, die man entfernen könnte",
    "Go to object mode or pose mode to select parts": (
        "Zum Auswählen von Teilen in den Objekt- oder Posenmodus wechseln"
    ),
    "Bake a simulation of the mechanism first": "Zuerst eine Simulation des Mechanismus backen",
    "Use Add Rigid Bodies first": "Zuerst Starrkörper hinzufügen benutzen",
    "Drive": "Antrieb",
    "Bodies follow the bones exactly": "Die Körper folgen den Knochen genau",
    "Servo": "Servo",
    "Physics moves the bodies; each servo tracks its target within its force": (
        "Die Physik bewegt die Körper; jeder Servo folgt seinem Ziel mit seiner Kraft"
    ),
    "Ragdoll": "Ragdoll",
    "Physics moves the bodies, with the servos off": "Die Physik bewegt die Körper, die Servos sind aus",
    "Part": "Teil",
    "Name of the object of the joint or body": "Name des Objekts des Gelenks oder Körpers",
    "Extend": "Erweitern",
    "Keep what is selected": "Die bisherige Auswahl behalten",
    "Name of the joint's object; the active joint if empty": "Name des Gelenkobjekts; leer: das aktive Gelenk",
    "Rigid bodies added: {}": "Starrkörper hinzugefügt: {}",
    "Rigid bodies removed": "Starrkörper entfernt",
    "Rigid bodies removed, and the world's baked cache freed": (
        "Starrkörper entfernt und der gebackene Zwischenspeicher der Welt freigegeben"
    ),
    "{} selected": "{} ausgewählt",
    "Input joints of the loop: {}": "Eingangsgelenke der Schleife: {}",
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
    "Settings": "Einstellungen",
    "Simulation Accuracy": "Simulationsgenauigkeit",
    "Joints and Stops": "Gelenke und Anschläge",
    "Report": "Bericht",
    "Assemblies": "Baugruppen",
    "Gravity": "Schwerkraft",
    "Substeps": "Teilschritte",
    "Iterations": "Iterationen",
    "Time Step": "Zeitschritt",
    "Simulation Step": "Simulationsschritt",
    "The simulation uses the scene's gravity, below": "Für die Simulation gilt die Schwerkraft der Szene, unten",
    "Tracks": "Folgt",
    "0 = no force": "0 = keine Kraft",
    "0 = no limit": "0 = unbegrenzt",
    "Pause": "Pause",
    "Play": "Abspielen",
    "Largest joint separation, of the link's length": "Größter Gelenkabstand, in Gliedlängen",
    "Drop a model file into the view, or import one": "Eine Modelldatei in die Ansicht ziehen oder eine importieren",
    "Bodies": "Körper",
    "Joints": "Gelenke",
    "Import Motion…": "Bewegung importieren…",
    "Export Motion…": "Bewegung exportieren…",
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
    "Import Mechanism…": "Mechanismus importieren…",
    "Bake Simulation measures how accurate it is": "Simulation backen misst, wie genau sie ist",
    "The mechanism has lost its joints": "Der Mechanismus hat seine Gelenke verloren",
    "Closes a loop: it has no bone, its value follows from the others": (
        "Schließt eine Schleife: es hat keinen Knochen, sein Wert folgt aus den anderen"
    ),
    "Value": "Wert",
    "Nothing to report": "Nichts zu berichten",
    "Locked: its loop has no degree of freedom": "Gesperrt: seine Schleife hat keinen Freiheitsgrad",
    "Dependent joint: the input joints of its loop move it": (
        "Abhängiges Gelenk: die Eingangsgelenke seiner Schleife bewegen es"
    ),
    "Turns freely ({})": "Dreht frei ({})",
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
    "Initial Value": "Anfangswert",
    "Joint value (rad or m) with which the mechanism begins": (
        "Gelenkwert (rad oder m), mit dem der Mechanismus beginnt"
    ),
    "Joint velocity (rad/s or m/s) with which a simulation begins": (
        "Gelenkgeschwindigkeit (rad/s oder m/s), mit der eine Simulation beginnt"
    ),
    "Torque or force against the velocity, in proportion to it (N m s/rad or N s/m)": (
        "Drehmoment oder Kraft gegen die Geschwindigkeit, im Verhältnis zu ihr (N m s/rad oder N s/m)"
    ),
    "Dry friction of the joint: torque or force against motion at any speed (N m or N)": (
        "Trockene Reibung des Gelenks: Drehmoment oder Kraft gegen die Bewegung bei jeder Geschwindigkeit (N m oder N)"
    ),
    "Stiffness of the joint's spring, towards its rest value (N m/rad or N/m)": (
        "Steifigkeit der Feder des Gelenks, hin zu ihrer Ruhelage (N m/rad oder N/m)"
    ),
    "Joint value (rad or m) at which the joint's spring exerts nothing": (
        "Gelenkwert (rad oder m), bei dem die Feder des Gelenks nicht wirkt"
    ),
    "Damping": "Dämpfung",
    "Friction": "Reibung",
    "Stiffness": "Steifigkeit",
    "Spring Rest": "Ruhelage der Feder",
    "Rotor Inertia": "Rotorträgheit",
    "Gain": "Verstärkung",
    "How hard the servo corrects its error (Juice's law)": (
        "Wie stark der Servo seinen Fehler ausgleicht (Gesetz von Juice)"
    ),
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
    "Source of the bodies' motion": "Woher die Bewegung der Körper kommt",
    "Target": "Ziel",
    "Value that each servo tries to reach": "Wert, den jeder Servo zu erreichen sucht",
    "The gait while its own Action plays, else the keyframes of the bones": (
        "Der Gang, solange seine eigene Action spielt, sonst die Keyframes der Knochen"
    ),
    "The mechanism's gait, live, with its inputs and the feedback of its bodies": (
        "Der Gang des Mechanismus, live, mit seinen Eingaben und der Rückmeldung seiner Körper"
    ),
    "Values of the bones": "Werte der Knochen",
    "Control Law": "Regelgesetz",
    "Rule from a servo's error to its motor command": "Regel vom Fehler eines Servos zur Vorgabe für seinen Motor",
    "Juice's law for a gait, Track for keyframes": "Für einen Gang das Gesetz von Juice, für Keyframes Verfolgen",
    "Juice": "Juice",
    "Velocity in proportion to the error times the servo's Gain, as in Juice": (
        "Geschwindigkeit im Verhältnis zum Fehler mal der Verstärkung des Servos, wie bei Juice"
    ),
    "Track": "Verfolgen",
    "As tight as the solver allows, with the velocity of the keyframes fed forward": (
        "So straff, wie es der Löser erlaubt, mit vorgegebener Geschwindigkeit der Keyframes"
    ),
    "PD": "PD",
    "Torque k (q* - q) + d (dq* - dq); a jump of the keyframes has no velocity": (
        "Moment k (q* - q) + d (dq* - dq); ein Sprung der Keyframes hat keine Geschwindigkeit"
    ),
    "Speed of the gait, 1 is the file's standard": "Tempo des Gangs, 1 ist das übliche der Datei",
    "Standard Speed": "Standardtempo",
    "Cycles per minute of the engine": "Umläufe des Triebwerks je Minute",
    "Pose Delay": "Haltezeit",
    "Seconds before the engine starts": "Sekunden, bevor das Triebwerk anläuft",
    "Pose Phase": "Haltephase",
    "Engine phase during the delay, in degrees": "Phase des Triebwerks während der Haltezeit, in Grad",
    "Gravity of the file, written back on export. A simulation uses the scene's gravity": (
        "Schwerkraft der Datei, die beim Export wieder geschrieben wird. Für eine Simulation gilt die der Szene"
    ),
    "Friction of the bodies: Coulomb's coefficient, 0 for the default (Juice: largest contact force)": (
        "Reibung der Körper: Coulombscher Beiwert, 0 für den üblichen (Juice: größte Kontaktkraft)"
    ),
    "ERP": "ERP",
    "Share of a joint's error that is corrected in each step of the file's program": (
        "Anteil des Fehlers eines Gelenks, der in jedem Schritt des Programms der Datei behoben wird"
    ),
    "CFM": "CFM",
    "Softness of the joints; 0 is rigid": "Weichheit der Gelenke; 0 ist starr",
    "Time step of the file's own program, which the softness is given for": (
        "Zeitschritt des Programms der Datei, auf den sich die Weichheit bezieht"
    ),
    "File's Inertia": "Trägheit der Datei",
    "Simulate with the file's moments of inertia, by hidden inertia proxies where needed": (
        "Mit den Trägheitsmomenten der Datei simulieren, wo nötig durch verborgene Trägheitskörper"
    ),
    "Ground at height 0 in a simulation. The scene has one for all its mechanisms": (
        "Boden in Höhe 0 bei einer Simulation. Die Szene hat einen für alle ihre Mechanismen"
    ),
    "Self-Collision": "Selbstkollision",
    "Collision between bodies of one assembly that no joint connects": (
        "Zusammenstöße zwischen Körpern einer Baugruppe, die kein Gelenk verbindet"
    ),
    "Symmetrical Editing": "Symmetrisch bearbeiten",
    "What is moved, turned, resized, renamed or set on one half is done to its twin as well": (
        "Was an einer Hälfte bewegt, gedreht, skaliert, umbenannt oder eingestellt wird, geschieht auch ihrem Zwilling"
    ),
    "Collision Shapes": "Kollisionsformen",
    "Show, as wires, what bodies collide with where that is not what they look like": (
        "Als Drahtgitter zeigen, womit Körper zusammenstoßen, wo das nicht ist, wie sie aussehen"
    ),
    "Write keyframes for every body besides the servos, which then play exactly as simulated": (
        "Neben den Servos Keyframes für jeden Körper schreiben, die dann genau wie simuliert abspielen"
    ),
    "What motions call servos of this model": "Wie Bewegungen Servos dieses Modells nennen",
    "Keyframes": "Keyframes",
    "Gait Speed": "Gangtempo",
    "Bake All Bodies": "Alle Körper backen",
    "Keys": "Keyframes",
    "Rotation": "Rotation",
    "Location": "Position",
}
