"""Making and changing mechanisms."""

from __future__ import annotations

WORDS: dict[str, str] = {
    "Rebuild Missing Parts": "Fehlende Teile neu bauen",
    "Make anew what was deleted of the mechanism by hand: its armature and bones, joints, bodies, collections, text "
    "and physics. What remains keeps its keys, poses and edits, and what Delete Parts took away stays away": (
        "Neu machen, was vom Mechanismus von Hand gelöscht wurde: Armatur und Knochen, Gelenke, Körper, Sammlungen, "
        "Text und Physik. Was übrig ist, behält Keys, Posen und Änderungen, und was „Teile löschen“ fortnahm, bleibt "
        "fort"
    ),
    "Made anew or taken back: {}": "Neu gemacht oder zurückgeholt: {}",
    "Nothing is missing": "Es fehlt nichts",
    "Nothing is missing: every part in the scene has its mechanism": (
        "Es fehlt nichts: jedes Teil der Szene hat seinen Mechanismus"
    ),
    "Its armature is gone from the file": "Seine Armatur ist aus der Datei verschwunden",
    "What is known of the model as a whole was cleared": "Was über das Modell als Ganzes bekannt war, wurde gelöscht",
    "The collection of the model was deleted": "Die Sammlung des Modells wurde gelöscht",
    "The armature was deleted": "Die Armatur wurde gelöscht",
    "Deleted, and still held by joints: {}": "Gelöscht und noch von Gelenken gehalten: {}",
    "The text of its file was deleted: exports write a new one, without what only the text knew. Rebuild Missing Parts "
    "looks for it": (
        "Der Text seiner Datei wurde gelöscht: Exporte schreiben einen neuen, ohne das, was nur der Text wusste. "
        "„Fehlende Teile neu bauen“ sucht ihn"
    ),
    "Deleted, and nothing else holds {}: joint {}": "Gelöscht, und sonst hält nichts {}: das Gelenk {}",
    "Deleted, and left away since nothing needs it: {}. Deleted Parts Too takes it back": (
        "Gelöscht und fort gelassen, weil nichts es braucht: {}. „Auch gelöschte Teile“ holt es zurück"
    ),
    "Which motion it played cannot be told: choose one of {}": (
        "Welche Bewegung es abspielte, ist nicht zu erkennen: eine hiervon wählen: {}"
    ),
    "{} is an instance, which only shows its mechanism: bring that itself, by File > Append, or by File > Link with "
    "Instance Collections off": (
        "{} ist eine Instanz, die ihren Mechanismus nur zeigt: ihn selbst holen, mit Datei > Anhängen oder mit Datei > "
        "Verknüpfen ohne „Sammlungen instanziieren“"
    ),
    "The text of its file cannot be read any more: {}": "Der Text seiner Datei ist nicht mehr lesbar: {}",
    "The text of its file was found neither in the .blend nor where it was read from: exports write a new one, "
    "without what only the text knew": (
        "Der Text seiner Datei fand sich weder in der .blend noch dort, woher er kam: Exporte schreiben einen neuen, "
        "ohne das, was nur der Text wusste"
    ),
    "Deleted Parts Too": "Auch gelöschte Teile",
    "Also take back what was deleted with all that held it, which is how a mechanism is made smaller: bodies with their "
    "joints, frames. What Delete Parts took away stays away": (
        "Auch zurückholen, was mit allem gelöscht wurde, was es hielt; so macht man einen Mechanismus kleiner: Körper "
        "mit ihren Gelenken, Bezugssysteme. Was „Teile löschen“ fortnahm, bleibt fort"
    ),
    "The collection of the model is in no scene": "Die Sammlung des Modells ist in keiner Szene",
    "Deleted, with what was in it: collection {}": "Gelöscht, mit allem darin: die Sammlung {}",
    "The physics of the model was built in another file, and is not in the world of this scene": (
        "Die Physik des Modells wurde in einer anderen Datei gebaut und ist nicht in der Welt dieser Szene"
    ),
    "The rigid-body world was deleted, and the model's physics with it": (
        "Die Starrkörperwelt wurde gelöscht und mit ihr die Physik des Modells"
    ),
    "Pendulum": "Pendel",
    "Links that hang from the world and swing": "Glieder, die von der Welt hängen und schwingen",
    "Four-Bar Linkage": "Viergelenk",
    "A crank, a coupler and a rocker between two hinges on the world": (
        "Kurbel, Koppel und Schwinge zwischen zwei Scharnieren an der Welt"
    ),
    "Slider-Crank": "Schubkurbel",
    "A crank that moves a slider with a rod, as in an engine": (
        "Eine Kurbel, die über eine Pleuelstange einen Schlitten bewegt, wie in einem Motor"
    ),
    "Walker": "Läufer",
    "A trunk on pairs of legs with two hinges each, twins of one another": (
        "Ein Rumpf auf Beinpaaren mit je zwei Scharnieren, die einander spiegeln"
    ),
    "Add Mechanism": "Mechanismus hinzufügen",
    "Add a mechanism to begin with, at the 3D cursor": "Einen Mechanismus für den Anfang am 3D-Cursor hinzufügen",
    "Mechanism": "Mechanismus",
    "Kind": "Art",
    "Length": "Länge",
    "Length of each link": "Länge jedes Glieds",
    "Links": "Glieder",
    "How many links hang from one another": "Wie viele Glieder aneinander hängen",
    "Crank": "Kurbel",
    "Length of the crank": "Länge der Kurbel",
    "Coupler": "Koppel",
    "Length of the bar between crank and rocker": "Länge der Stange zwischen Kurbel und Schwinge",
    "Rocker": "Schwinge",
    "Length of the rocker": "Länge der Schwinge",
    "Ground": "Boden",
    "Between the two hinges on the world": "Zwischen den beiden Scharnieren an der Welt",
    "Rod": "Pleuel",
    "Length of the rod between crank and slider": "Länge der Stange zwischen Kurbel und Schlitten",
    "Legs": "Beine",
    "How many legs, in pairs": "Wie viele Beine, paarweise",
    "Hip Height": "Hüfthöhe",
    "From the ground to the hips": "Vom Boden bis zu den Hüften",
    "{} added: {}": "{} hinzugefügt: {}",
    "Empty": "Leer",
    "Go to object mode to add a mechanism": "Zum Hinzufügen eines Mechanismus in den Objektmodus wechseln",
    "Nothing is wrong with the mechanism": "Am Mechanismus ist nichts auszusetzen",
    "Check Mechanism": "Mechanismus prüfen",
    (
        "List what is wrong with the mechanism, or likely to be: masses, stops, names, twins, loops, scales, meshes "
        "edited by hand, and what was deleted or hung elsewhere"
    ): (
        "Auflisten, was am Mechanismus falsch oder verdächtig ist: Massen, Anschläge, Namen, Zwillinge, Schleifen, "
        "Skalierungen, von Hand bearbeitete Meshes, und was gelöscht oder woanders angehängt wurde"
    ),
    "Other Way": "Anderer Weg",
    "Mend it in the second of two ways": "Auf dem zweiten von zwei Wegen beheben",
    "Finding": "Befund",
    "What is shown; click one to select its parts": "Was gezeigt wird; ein Klick wählt die betroffenen Teile aus",
    "Fix": "Beheben",
    "Mend what the check found, where that is safe": (
        "Beheben, was die Prüfung gefunden hat, wo das gefahrlos möglich ist"
    ),
    "Checks": "Prüfung",
    "Check Mechanism first": "Zuerst den Mechanismus prüfen",
    "Row": "Zeile",
    "Which row of the list; the one that is active if below 0": "Welche Zeile der Liste; unter 0 die aktive",
    "Click a row of the list first": "Zuerst eine Zeile der Liste anklicken",
    "Nothing is wrong": "Nichts auszusetzen",
    "hint": "Hinweis",
    "Duplicate Limb": "Glied duplizieren",
    "Make the selected bodies once more, with the joints that carry them, hung where the originals hang. The copies are nobody's twins; but while Symmetrical Editing is on the other side is duplicated as well, and the copies are each other's": (
        "Die gewählten Körper noch einmal anlegen, mit den Gelenken, die sie tragen, und am selben Ort aufgehängt. Die Kopien sind niemandes Zwillinge; bei symmetrischem Bearbeiten wird aber auch die andere Seite dupliziert, und die Kopien sind die der jeweils anderen"
    ),
    "Twins Too": "Auch Zwillinge",
    "Nothing has a twin yet: Find Twins": "Noch hat nichts einen Zwilling: Zwillinge suchen",
    "While Symmetrical Editing is on: do the same to the twins of the selected parts": (
        "Bei symmetrischem Bearbeiten: dasselbe mit den Zwillingen der gewählten Teile tun"
    ),
    "Split": "Abtrennen",
    "Make the selected bodies, and the joints between them, a mechanism of their own. While Symmetrical Editing is on, their twins go with them": (
        "Die gewählten Körper und die Gelenke zwischen ihnen zu einem eigenen Mechanismus machen. Bei symmetrischem Bearbeiten gehen ihre Zwillinge mit"
    ),
    "Merge": "Vereinigen",
    "Make the selected mechanisms one: the active one takes the others in, where they stand. Names that are taken get a number": (
        "Die gewählten Mechanismen zu einem machen: der aktive nimmt die anderen auf, wo sie stehen. Vergebene Namen bekommen eine Nummer"
    ),
    "Switch Assembly": "Baugruppe schalten",
    "Switch a group of parts on or off, as the flag in its file does: what is off is kept, and neither poses nor simulates": (
        "Eine Gruppe von Teilen ein- oder ausschalten, wie es das Kennzeichen in ihrer Datei tut: Ausgeschaltetes bleibt erhalten, wird aber weder bewegt noch simuliert"
    ),
    "Select bodies of the mechanism, or joints that move some": (
        "Körper des Mechanismus auswählen, oder Gelenke, die welche bewegen"
    ),
    "Select bodies of the mechanism to split them off": "Körper des Mechanismus auswählen, um sie abzutrennen",
    "Go to object mode to split a mechanism": "Zum Abtrennen in den Objektmodus wechseln",
    "Select parts of two mechanisms: the active one takes the other in": (
        "Teile zweier Mechanismen auswählen: der aktive nimmt den anderen auf"
    ),
    "Go to object mode to merge mechanisms": "Zum Vereinigen in den Objektmodus wechseln",
    "One of them is linked from another file: make it local first (Object > Relations > Make Local > All)": (
        "Einer davon ist aus einer anderen Datei verknüpft: zuerst lokal machen (Objekt > Beziehungen > Lokal machen > Alles)"
    ),
    "The mechanism has no assemblies": "Der Mechanismus hat keine Baugruppen",
    "Whole Limb": "Ganzes Glied",
    "And all that hangs on them": "Und alles, was daran hängt",
    "Place": "Ort",
    "Beside": "Daneben",
    "Along the model's Y axis, so far that the two do not overlap": (
        "Entlang der Y-Achse des Modells, so weit, dass die beiden sich nicht überlappen"
    ),
    "Offset": "Versatz",
    "As far off as you say": "So weit weg wie angegeben",
    "How far off, in the model's axes": "Wie weit weg, in den Achsen des Modells",
    "{} and {}": "{} und {}",
    "Name": "Name",
    "Of the new mechanism; that of a body if empty": "Des neuen Mechanismus; leer: der eines Körpers",
    "Joints Across": "Gelenke dazwischen",
    "What becomes of the joints between the selected bodies and the others": (
        "Was aus den Gelenken zwischen den gewählten Körpern und den anderen wird"
    ),
    "Delete": "Löschen",
    "They are deleted": "Sie werden gelöscht",
    "To the World": "An die Welt",
    "They hold the new mechanism to the world, where it is": (
        "Sie halten den neuen Mechanismus an der Welt, wo er ist"
    ),
    "{} is a mechanism of its own: {}": "{} ist nun ein eigener Mechanismus: {}",
    "{}; held to the world by {}": "{}; an der Welt gehalten von {}",
    "{}; deleted: {}": "{}; gelöscht: {}",
    "{} took in {}: {}": "{} hat {} aufgenommen: {}",
    "Assembly": "Baugruppe",
    "Its name, after those of the assemblies around it": "Ihr Name, nach denen der Baugruppen, in denen sie ist",
    "Duplicated: {}": "Dupliziert: {}",
    "; {} numbered": "; {} nummeriert",
    "; it turned by {} degrees": "; es drehte sich um {} Grad",
    "{} is {}": "{} ist {}",
    "on": "ein",
    "off": "aus",
    "mechanism": "Mechanismus",
    "name": "Name",
    "Revolute": "Drehgelenk",
    "A hinge: it turns about Z": "Ein Scharnier: es dreht um Z",
    "Prismatic": "Schubgelenk",
    "A slider: it goes along Z": "Ein Schlitten: er läuft entlang Z",
    "Cylindrical": "Drehschubgelenk",
    "It slides along Z and turns about it": "Es gleitet entlang Z und dreht darum",
    "Screw": "Schraube",
    "It turns about Z, and slides along it as it turns": "Sie dreht um Z und gleitet dabei darauf entlang",
    "Universal": "Kreuzgelenk",
    "Two turns at right angles": "Zwei Drehungen im rechten Winkel",
    "Euler": "Euler",
    "Three turns, one after the other": "Drei Drehungen nacheinander",
    "Ball": "Kugelgelenk",
    "It turns every way": "Es dreht in jede Richtung",
    "Planar": "Ebenes Gelenk",
    "It slides in a plane, and turns in it": "Es gleitet in einer Ebene und dreht darin",
    "Translational": "Verschiebung",
    "It slides every way": "Sie gleitet in jede Richtung",
    "Weld": "Starr",
    "It holds its bodies together": "Es hält seine Körper zusammen",
    "Free": "Frei",
    "It holds nothing": "Es hält nichts",
    "3D Cursor": "3D-Cursor",
    "At the cursor, about its Z": "Am Cursor, um dessen Z",
    "Active Face": "Aktive Fläche",
    "In the middle of the face that is active on either body, about its normal": (
        "In der Mitte der aktiven Fläche eines der Körper, um ihre Normale"
    ),
    "Selected Ring": "Ausgewählter Ring",
    "In the middle of the points that are selected on either body, about their axis": (
        "In der Mitte der ausgewählten Punkte eines der Körper, um ihre Achse"
    ),
    "Nearest Points": "Nächste Punkte",
    "Where the two bodies are nearest": "Wo die beiden Körper einander am nächsten sind",
    "Child's Origin": "Ursprung des Kinds",
    "Where the child's centre of mass is, about its Z": "Im Schwerpunkt des Kinds, um dessen Z",
    "Empty Mechanism": "Leerer Mechanismus",
    "Add a mechanism without bodies. Make Body fills it from the meshes of the scene": (
        "Einen Mechanismus ohne Körper hinzufügen. Körper erstellen füllt ihn aus den Meshes der Szene"
    ),
    "Make Body": "Körper erstellen",
    "Make the selected meshes bodies of the mechanism, where they stand. Boxes, cylinders, balls and their like are recognised. While Symmetrical Editing is on, those on one side get twins on the other": (
        "Die gewählten Meshes zu Körpern des Mechanismus machen, wo sie stehen. Quader, Zylinder, Kugeln und dergleichen werden erkannt. Bei symmetrischem Bearbeiten bekommt, was auf einer Seite steht, Zwillinge auf der anderen"
    ),
    "Add Joint": "Gelenk hinzufügen",
    "Join the selected body to the active one, its parent; one body alone is joined to the world. While Symmetrical Editing is on, their twins are joined as well": (
        "Den gewählten Körper an den aktiven hängen; ein einzelner Körper kommt an die Welt. Bei symmetrischem Bearbeiten werden ihre Zwillinge ebenso verbunden"
    ),
    "Set Joint Type": "Gelenktyp setzen",
    "Make the joint one of another type. Stops, motors and springs stay with what stays in it": (
        "Das Gelenk zu einem anderen Typ machen. Anschläge, Motoren und Federn bleiben, wo es sie weiter gibt"
    ),
    "Swap Parent and Child": "Eltern und Kind tauschen",
    "Have the joint count the other way: what stayed moves, and what moved stays": (
        "Das Gelenk andersherum zählen lassen: was blieb, bewegt sich, und was sich bewegte, bleibt"
    ),
    "Move Joint": "Gelenk versetzen",
    "Put the joint elsewhere and leave its bodies where they are. At the cursor, between bodies and at the child it keeps its axis; a face or a ring gives it a new one": (
        "Das Gelenk anderswo hinsetzen und seine Körper lassen, wo sie sind. Am Cursor, zwischen Körpern und am Kind behält es seine Achse; eine Fläche oder ein Ring gibt ihm eine neue"
    ),
    "The joint keeps its own axis, but at a face or a ring: there it is square to that": (
        "Das Gelenk behält seine eigene Achse, außer an einer Fläche oder einem Ring: dort steht sie senkrecht darauf"
    ),
    "Delete Parts": "Teile löschen",
    "Delete the selected bodies and joints; joints that lose a body go as well, and the rest stays valid. While Symmetrical Editing is on, their twins go with them": (
        "Die gewählten Körper und Gelenke löschen; Gelenke, die einen Körper verlieren, gehen mit, und der Rest bleibt gültig. Bei symmetrischem Bearbeiten gehen ihre Zwillinge mit"
    ),
    "Update Armature": "Armatur aktualisieren",
    "Make the bones fit the bodies and joints as they stand now, after joints were moved by hand": (
        "Die Knochen an Körper und Gelenke anpassen, wie sie jetzt stehen, nachdem Gelenke von Hand bewegt wurden"
    ),
    "Select meshes that are no bodies yet, and a part of the mechanism": (
        "Meshes auswählen, die noch keine Körper sind, und einen Teil des Mechanismus"
    ),
    "Go to object mode to make bodies": "Zum Erstellen von Körpern in den Objektmodus wechseln",
    "Select a body or joint": "Körper oder Gelenk auswählen",
    "Select a joint, its bone, or the body that it moves": (
        "Ein Gelenk, seinen Knochen oder den Körper auswählen, den es bewegt"
    ),
    "Select bodies or joints of the mechanism": "Körper oder Gelenke des Mechanismus auswählen",
    "A ground plane at height 0 under physics": "Eine Bodenebene in Höhe 0 für die Physik",
    "From Density": "Aus Dichte",
    "Weigh each by its volume": "Jeden nach seinem Volumen wiegen",
    "Density": "Dichte",
    "Mass per volume (water: 1000)": "Masse je Volumen (Wasser: 1000)",
    "Mass": "Masse",
    "Mass of each": "Masse eines jeden",
    "Keep as Mesh": "Als Mesh behalten",
    "Recognise no primitives": "Keine Grundkörper erkennen",
    "{} is no body yet: Make Body first": "{} ist noch kein Körper: zuerst Körper machen",
    "{} is of another mechanism: Merge the two first": "{} gehört zu einem anderen Mechanismus: zuerst beide vereinen",
    "Select the child and then the parent: two bodies of the mechanism, the parent active": (
        "Erst das Kind, dann die Eltern auswählen: zwei Körper des Mechanismus, die Eltern aktiv"
    ),
    "Type": "Typ",
    "At": "Bei",
    "Axis": "Achse",
    "Which axis of the place is the joint's": "Welche Achse des Orts die des Gelenks ist",
    "That of its bodies if empty": "Leer: der seiner Körper",
    "To": "Nach",
    "{} added: select meshes and Make Body": "{} hinzugefügt: Meshes auswählen und Körper erstellen",
    "{} made": "{} erstellt",
    "{} made, and {}; {} linked": "{} erstellt, und {}; {} verknüpft",
    "{} joins {}": "{} verbindet {}",
    "{} joins {}, and its twin {} their twins": "{} verbindet {}, und sein Zwilling {} deren Zwillinge",
    "{} is {} now": "{} ist jetzt {}",
    "{} is {} now, and so is its twin {}": "{} ist jetzt {}, und ebenso sein Zwilling {}",
    "{} carries {} now": "{} trägt jetzt {}",
    "{} carries {} now, and {} {}": "{} trägt jetzt {}, und {} {}",
    "{} moved": "{} versetzt",
    "{} moved, and so did its twin {}": "{} versetzt, und ebenso sein Zwilling {}",
    "{} and {} deleted": "{} und {} gelöscht",
    "{} and {} deleted, {} among them: the halves are edited together": (
        "{} und {} gelöscht, darunter {}: die Hälften werden zusammen bearbeitet"
    ),
    "The armature fits its joints": "Die Armatur passt zu ihren Gelenken",
    "Joint Type": "Gelenktyp",
    "{} has no body": "{} hat keinen Körper",
    "Automatic": "Automatisch",
    "The mechanism's own mirror plane": "Die Spiegelebene des Mechanismus selbst",
    "X": "X",
    "The plane X = 0 of the mechanism": "Die Ebene X = 0 des Mechanismus",
    "Y": "Y",
    "The plane Y = 0 of the mechanism": "Die Ebene Y = 0 des Mechanismus",
    "Z": "Z",
    "The plane Z = 0 of the mechanism": "Die Ebene Z = 0 des Mechanismus",
    "Mirror to Twin": "Auf Zwilling spiegeln",
    "Make the twins of the selected parts their mirror images: place, mass, shapes and meshes of bodies; place, axes, stops, springs and motors of joints": (
        "Die Zwillinge der gewählten Teile zu deren Spiegelbildern machen: Ort, Masse, Formen und Netze von Körpern; Ort, Achsen, Anschläge, Federn und Motoren von Gelenken"
    ),
    "Create Twin": "Zwilling anlegen",
    "Make the mirror images of the selected bodies and joints, with the joints that carry them and names of the other side: a whole limb at once": (
        "Die Spiegelbilder der gewählten Körper und Gelenke anlegen, mit den Gelenken, die sie tragen, und Namen der anderen Seite: ein ganzes Glied auf einmal"
    ),
    "Link Twins": "Zwillinge verknüpfen",
    "Make the two selected bodies, or joints, each other's twins": (
        "Die zwei gewählten Körper oder Gelenke zu Zwillingen machen"
    ),
    "Unlink Twins": "Zwillinge lösen",
    "Have the selected parts be nobody's twins": "Die gewählten Teile zu niemandes Zwilling machen",
    "Find Twins": "Zwillinge suchen",
    "Look for parts that could be twins, by their names and where they are. Nothing is linked yet": (
        "Teile suchen, die Zwillinge sein könnten, nach Namen und Ort. Verknüpft wird noch nichts"
    ),
    "name, {} off": "Name, {} daneben",
    "Link Found": "Gefundene verknüpfen",
    "Make the ticked pairs twins": "Die angekreuzten Paare zu Zwillingen machen",
    "Check Symmetry": "Symmetrie prüfen",
    "List what differs between the halves of the mechanism: twins that are no mirror images, edited meshes, limbs that one side lacks": (
        "Auflisten, worin sich die Hälften des Mechanismus unterscheiden: Zwillinge, die keine Spiegelbilder sind, bearbeitete Meshes, Glieder, die einer Seite fehlen"
    ),
    "{} by {}": "{} um {}",
    "Twins": "Zwillinge",
    "None of the selected parts has a twin: Find Twins looks for them, Create Twin makes one": (
        "Keines der gewählten Teile hat einen Zwilling: Zwillinge suchen findet welche, Zwilling anlegen macht einen"
    ),
    "Select two bodies, or two joints": "Zwei Körper oder zwei Gelenke auswählen",
    "None of the selected parts has a twin": "Keines der gewählten Teile hat einen Zwilling",
    "Find Twins first, and tick pairs": "Zuerst Zwillinge suchen und Paare ankreuzen",
    "Plane": "Ebene",
    "Give the twins' servos the mirrored keys as well": "Auch den Servos der Zwillinge die gespiegelten Keys geben",
    "{} between the halves": "{} zwischen den Hälften",
    "The halves are mirror images": "Die Hälften sind Spiegelbilder",
    "{} mirrored": "{} gespiegelt",
    "Twins made: {}": "Zwillinge angelegt: {}",
    "{} and {} are twins": "{} und {} sind Zwillinge",
    "{} unlinked": "{} gelöst",
    "{} found: Link Found makes those that are ticked twins": (
        "{} gefunden: Gefundene verknüpfen macht die angekreuzten zu Zwillingen"
    ),
    "{} linked": "{} verknüpft",
    "Link": "Verknüpfen",
    "Unlink": "Lösen",
    "No two parts without twins look like twins": "Keine zwei Teile ohne Zwilling sehen wie Zwillinge aus",
    "Twin": "Zwilling",
    "none": "keiner",
    "twin": "Zwilling",
    "part": "Teil",
    "pair": "Paar",
    "difference": "Unterschied",
}
