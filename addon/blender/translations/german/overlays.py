"""What is drawn over mechanisms, stop handles, and pictures of them."""

from __future__ import annotations

WORDS: dict[str, str] = {
    "Overlays": "Überlagerungen",
    "What is drawn over mechanisms in the view": "Was in der Ansicht über Mechanismen gezeichnet wird",
    "Mechanism Overlays": "Mechanismus-Überlagerungen",
    "Axes": "Achsen",
    "An arrow along each joint's axis, the way a growing value turns or slides its body": (
        "Ein Pfeil entlang jeder Gelenkachse, in die Richtung, in die ein wachsender Wert den Körper dreht oder schiebt"
    ),
    "A dial or a bar from stop to stop, with the present value; red where it is beyond": (
        "Eine Skala oder ein Balken von Anschlag zu Anschlag, mit dem jetzigen Wert; rot, wo er jenseits ist"
    ),
    "Lines between the twins of the left and of the right half": (
        "Linien zwischen den Zwillingen der linken und der rechten Hälfte"
    ),
    "Centres of Mass": "Schwerpunkte",
    "The centre of mass of each body": "Der Schwerpunkt jedes Körpers",
    "Inertia": "Trägheit",
    "The box of even density that turns as the body does": (
        "Der Quader gleichmäßiger Dichte, der sich wie der Körper dreht"
    ),
    "How large dials and arrows are": "Wie groß Skalen und Pfeile sind",
    "In Front": "Im Vordergrund",
    "Draw through bodies, not behind them": "Durch Körper hindurch zeichnen, nicht hinter ihnen",
    "Draw the ground that a simulation has": "Den Boden zeichnen, den eine Simulation hat",
    "Stop Handles": "Anschlaggriffe",
    "Drag the stops of the active joint in the view": "Die Anschläge des aktiven Gelenks in der Ansicht ziehen",
    "Save Picture…": "Bild speichern…",
    "Save a picture of the view with the overlays in it: as the camera sees it, or this view": (
        "Ein Bild der Ansicht samt den Überlagerungen speichern: wie die Kamera sie sieht, oder diese Ansicht"
    ),
    "There is no 3D view to take the picture of": "Es gibt keine 3D-Ansicht, von der ein Bild gemacht werden könnte",
    "No overlay is on: choose some above": "Keine Überlagerung ist eingeschaltet: oben welche wählen",
    "Picture saved: {}": "Bild gespeichert: {}",
}
