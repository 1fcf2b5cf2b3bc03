"""Stops, the sweep through them, and the table of joints."""

from __future__ import annotations

WORDS: dict[str, str] = {
    "Set Stops": "Anschläge setzen",
    "Put stops of the selected joints where they stand now, or where the motion takes them": (
        "Anschläge der gewählten Gelenke dorthin setzen, wo sie jetzt stehen oder wohin die Bewegung sie führt"
    ),
    "Switch Stops": "Anschläge schalten",
    "Switch stops of the selected joints on or off. Their values stay": (
        "Anschläge der gewählten Gelenke ein- oder ausschalten. Ihre Werte bleiben"
    ),
    "Have the selected joints stop at their stops. Stops that were never set begin beside 0": (
        "Die gewählten Gelenke an ihren Anschlägen anhalten lassen. Nie gesetzte Anschläge beginnen neben 0"
    ),
    "Have the selected joints go beyond their stops. Their values stay": (
        "Die gewählten Gelenke über ihre Anschläge hinausgehen lassen. Deren Werte bleiben"
    ),
    "Sweep": "Durchfahren",
    "Play the selected joints through their ranges, one after the other, to see them. Pose, keyframes and frame stay as they are. Esc or a click ends it": (
        "Die gewählten Gelenke nacheinander ihre Bereiche durchfahren lassen, um sie zu sehen. Pose, Keyframes und Frame bleiben, wie sie sind. Esc oder ein Klick beendet es"
    ),
    "Esc or a click ends the sweep": "Esc oder ein Klick beendet das Durchfahren",
    "Select joints, their bones, or bodies that they move": (
        "Gelenke, ihre Knochen oder Körper auswählen, die sie bewegen"
    ),
    "Physics moves the bodies: set Drive to Keyframes to see a sweep": (
        "Die Physik bewegt die Körper: zum Durchfahren den Antrieb auf Keyframes stellen"
    ),
    "Lower from Pose": "Unten aus Pose",
    "The lower stop is where the joint stands now": "Der untere Anschlag ist, wo das Gelenk jetzt steht",
    "Upper from Pose": "Oben aus Pose",
    "The upper stop is where the joint stands now": "Der obere Anschlag ist, wo das Gelenk jetzt steht",
    "Both from Motion": "Beide aus Bewegung",
    "The stops are the least and the most that the motion asks of the joint": (
        "Die Anschläge sind das Kleinste und das Größte, was die Bewegung vom Gelenk verlangt"
    ),
    "{}. For all selected joints": "{}. Für alle gewählten Gelenke",
    "From Motion": "Aus Bewegung",
    "Stops On": "Anschläge ein",
    "Stops Off": "Anschläge aus",
    "The joints stop there": "Die Gelenke halten dort an",
    "Ends": "Enden",
    "Both": "Beide",
    "The lower and the upper stop": "Der untere und der obere Anschlag",
    "The lower stop": "Der untere Anschlag",
    "The upper stop": "Der obere Anschlag",
    "How long each servo takes": "Wie lange jeder Servo braucht",
    "Name of the joint's object; the selected joints if empty": "Name des Gelenkobjekts; leer: die gewählten Gelenke",
    "Stops of {} set": "Anschläge von {} gesetzt",
    "Stops of {} switched {}": "Anschläge von {} {}geschaltet",
    "Played for {} s": "{} s lang gespielt",
    "No stop was set{}": "Es wurde kein Anschlag gesetzt{}",
    ": a joint that closes a loop has no pose": ": ein Gelenk, das eine Schleife schließt, hat keine Pose",
    # the table of joints
    "All Joints": "Alle Gelenke",
    "Joints of every type": "Gelenke jeder Art",
    "Joints with one rotation": "Gelenke mit einer Drehung",
    "Joints with one translation": "Gelenke mit einer Verschiebung",
    "Several DOFs": "Mehrere Freiheitsgrade",
    "Joints with several degrees of freedom": "Gelenke mit mehreren Freiheitsgraden",
    "Joints that rotate about every axis": "Gelenke, die um jede Achse drehen",
    "Closed Loops": "Geschlossene Schleifen",
    "Joints that close a loop, and joints that depend on one": (
        "Gelenke, die eine Schleife schließen oder von einer abhängen"
    ),
    "The selected joints": "Die gewählten Gelenke",
    "Table of Joints": "Gelenktabelle",
    "Table of Joints…": "Gelenktabelle…",
    "Show the stops, gains and forces of all joints side by side, and set those of many at once": (
        "Anschläge, Verstärkungen und Kräfte aller Gelenke nebeneinander zeigen und die vieler zugleich einstellen"
    ),
    "Tick Joints": "Gelenke ankreuzen",
    "Choose which joints are edited together in the table of joints": (
        "Wählen, welche Gelenke in der Gelenktabelle gemeinsam bearbeitet werden"
    ),
    "Copy Joint's Values": "Gelenkwerte kopieren",
    "Give other joints the stops, the servo and the springs of the active one": (
        "Anderen Gelenken die Anschläge, den Servo und die Federn des aktiven geben"
    ),
    "Give other joints the stops, the servo and the springs. {}": (
        "Anderen Gelenken die Anschläge, den Servo und die Federn geben. {}"
    ),
    "The mechanism has no joints": "Der Mechanismus hat keine Gelenke",
    "Tick": "Ankreuzen",
    "Tick All": "Alle ankreuzen",
    "All joints": "Alle Gelenke",
    "None": "Keine",
    "No joint": "Kein Gelenk",
    "Invert": "Umkehren",
    "Those that are not ticked": "Die, welche nicht angekreuzt sind",
    "The selected joints, and no other": "Die gewählten Gelenke und keine anderen",
    "From the active joint to all others that are selected": "Vom aktiven Gelenk auf alle anderen ausgewählten",
    "Ticked": "Angekreuzte",
    "From the active joint to all others that are ticked in the table": (
        "Vom aktiven Gelenk auf alle anderen, die in der Tabelle angekreuzt sind"
    ),
    "From each selected joint to its twin, mirrored: all of its values": (
        "Von jedem gewählten Gelenk auf seinen Zwilling, gespiegelt: alle seine Werte"
    ),
    "Stops": "Anschläge",
    "Both stops, and whether they are on": "Beide Anschläge, und ob sie eingeschaltet sind",
    "Gain, maximum force, stiffness and damping of PD": "Verstärkung, höchste Kraft, Steifigkeit und Dämpfung von PD",
    "Spring": "Feder",
    "Stiffness, rest, damping, friction and inertia": "Steifigkeit, Ruhelage, Dämpfung, Reibung und Trägheit",
    "What is set on a ticked joint is set on all that are ticked": (
        "Was an einem angekreuzten Gelenk eingestellt wird, gilt für alle angekreuzten"
    ),
    "{} ticked": "{} angekreuzt",
    "ticked": "angekreuzt",
    "selected": "ausgewählt",
    "Copy": "Kopieren",
    "Copy to Selected": "Auf Ausgewählte kopieren",
    "Copy to Ticked": "Auf Angekreuzte kopieren",
    "Copy to Twins": "Auf Zwillinge kopieren",
    "{} set like {}": "{} eingestellt wie {}",
    "{}, {} of another kind": "{}, {} von anderer Art",
    "Values given to {}": "Werte an {} gegeben",
    "Values given to {}, {} without a twin": "Werte an {} gegeben, {} ohne Zwilling",
    "No joint is active: click the one whose values the others are to get": (
        "Kein Gelenk ist aktiv: das anklicken, dessen Werte die anderen bekommen sollen"
    ),
    "Only {} is {}: choose the joints that get its values": (
        "Nur {} ist {}: die Gelenke wählen, die seine Werte bekommen"
    ),
    "Edit Together": "Gemeinsam bearbeiten",
    "What is set on one of the ticked joints is set on all of them": (
        "Was an einem der angekreuzten Gelenke eingestellt wird, gilt für alle"
    ),
    "Max Force": "Höchste Kraft",
    "PD Stiff.": "PD-Steif.",
    "PD Damp.": "PD-Dämpf.",
    "PD Stiffness": "PD-Steifigkeit",
    "PD Damping": "PD-Dämpfung",
    "Stop the joint at its lower limit. Of all ticked joints, if this one is": (
        "Das Gelenk an seiner unteren Grenze anhalten. Bei allen angekreuzten Gelenken, wenn dieses es ist"
    ),
    "Stop the joint at its upper limit. Of all ticked joints, if this one is": (
        "Das Gelenk an seiner oberen Grenze anhalten. Bei allen angekreuzten Gelenken, wenn dieses es ist"
    ),
    "Smallest servo value. Of all ticked joints, if this one is": (
        "Kleinster Servowert. Bei allen angekreuzten Gelenken, wenn dieses es ist"
    ),
    "Largest servo value. Of all ticked joints, if this one is": (
        "Größter Servowert. Bei allen angekreuzten Gelenken, wenn dieses es ist"
    ),
    "Smallest servo angle. Of all ticked joints, if this one is": (
        "Kleinster Servowinkel. Bei allen angekreuzten Gelenken, wenn dieses es ist"
    ),
    "Largest servo angle. Of all ticked joints, if this one is": (
        "Größter Servowinkel. Bei allen angekreuzten Gelenken, wenn dieses es ist"
    ),
    "How hard the servo corrects its error (Juice's law). Of all ticked joints, if this one is": (
        "Wie stark der Servo seinen Fehler ausgleicht (Gesetz von Juice). Bei allen angekreuzten Gelenken, wenn dieses es ist"
    ),
    "Largest torque or force that the servo may use. Of all ticked joints, if this one is": (
        "Größtes Drehmoment oder größte Kraft des Servos. Bei allen angekreuzten Gelenken, wenn dieses es ist"
    ),
    "Push per rad or m of the error. Of all ticked joints, if this one is": (
        "Druck je rad oder m des Fehlers. Bei allen angekreuzten Gelenken, wenn dieses es ist"
    ),
    "Push per rad/s or m/s of the error. Of all ticked joints, if this one is": (
        "Druck je rad/s oder m/s des Fehlers. Bei allen angekreuzten Gelenken, wenn dieses es ist"
    ),
    "What brakes the joint in proportion to its speed. Of all ticked joints, if this one is": (
        "Was das Gelenk im Verhältnis zu seiner Geschwindigkeit bremst. Bei allen angekreuzten Gelenken, wenn dieses es ist"
    ),
    "What brakes the joint at any speed. Of all ticked joints, if this one is": (
        "Was das Gelenk bei jeder Geschwindigkeit bremst. Bei allen angekreuzten Gelenken, wenn dieses es ist"
    ),
    "The joint's own spring. Of all ticked joints, if this one is": (
        "Die eigene Feder des Gelenks. Bei allen angekreuzten Gelenken, wenn dieses es ist"
    ),
    "Rigid Bodies": "Starrkörper",
    "Values": "Werte",
    "Value of each servo between its stops, with a button for its keyframe": (
        "Wert jedes Servos zwischen seinen Anschlägen, mit einem Knopf für seinen Keyframe"
    ),
    "Lower and upper stop (joint limits) of each joint": "Unterer und oberer Anschlag (Gelenkgrenzen) jedes Gelenks",
    "Range that the motion asks of each servo, beside its stops": (
        "Bereich, den die Bewegung von jedem Servo verlangt, neben seinen Anschlägen"
    ),
    "Largest velocity and acceleration of each servo in the motion": (
        "Größte Geschwindigkeit und Beschleunigung jedes Servos in der Bewegung"
    ),
    "File Order": "Wie in der Datei",
    "Joints as their file lists them": "Gelenke in der Reihenfolge ihrer Datei",
    "By Name": "Nach Name",
    "Joints in alphabetical order": "Gelenke in alphabetischer Reihenfolge",
    "Critical First": "Kritische zuerst",
    "Servos nearest to a stop or beyond it first, or the fastest where speeds are shown": (
        "Zuerst Servos, die einem Anschlag am nächsten oder jenseits davon sind, bei Geschwindigkeiten die schnellsten"
    ),
    "Columns": "Spalten",
    "Columns of the list of joints": "Spalten der Gelenkliste",
    "Show": "Zeigen",
    "Joints that are listed": "Aufgelistete Gelenke",
    "Order": "Reihenfolge",
    "Order of the list of joints": "Reihenfolge der Gelenkliste",
    "not keyed": "ohne Keyframes",
    "Active Joint": "Aktives Gelenk",
    "Spring, Damping, Friction": "Feder, Dämpfung, Reibung",
    "Initial State": "Anfangszustand",
    "Initial Velocity": "Anfangsgeschwindigkeit",
    "Joint angle with which the mechanism begins": "Gelenkwinkel, mit dem der Mechanismus beginnt",
    "Joint velocity with which a simulation begins, per second": (
        "Gelenkgeschwindigkeit, mit der eine Simulation beginnt, je Sekunde"
    ),
    "Joint angle at which the joint's spring exerts nothing": (
        "Gelenkwinkel, bei dem die Feder des Gelenks nicht wirkt"
    ),
}
