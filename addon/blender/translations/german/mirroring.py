"""German: the mirror plane, and what twins get of each other."""

from __future__ import annotations

WORDS: dict[str, str] = {
    "Mirror Plane": "Spiegelebene",
    "Axis to which the plane between the mechanism's halves is square": (
        "Achse, zu der die Ebene zwischen den Hälften des Mechanismus senkrecht steht"
    ),
    "No mirror plane: twins cannot be made or mirrored": (
        "Keine Spiegelebene: Zwillinge lassen sich nicht anlegen oder spiegeln"
    ),
    "The plane square to the X axis of the mechanism": "Die Ebene senkrecht zur X-Achse des Mechanismus",
    "The plane square to the Y axis of the mechanism": "Die Ebene senkrecht zur Y-Achse des Mechanismus",
    "The plane square to the Z axis of the mechanism": "Die Ebene senkrecht zur Z-Achse des Mechanismus",
    "Other": "Andere",
    "A plane with any normal": "Eine Ebene mit beliebiger Normale",
    "Normal": "Normale",
    "Direction to which the mirror plane is square, in the mechanism's axes": (
        "Richtung, zu der die Spiegelebene senkrecht steht, in den Achsen des Mechanismus"
    ),
    "Distance of the mirror plane from the mechanism's origin, along its normal": (
        "Abstand der Spiegelebene vom Ursprung des Mechanismus, entlang ihrer Normale"
    ),
    "Materials": "Materialien",
    "Give the twins the materials as well": "Den Zwillingen auch die Materialien geben",
    "Mechanism {} has no mirror plane yet. Choose one: Twins > Mirror Plane": (
        "Mechanismus {} hat noch keine Spiegelebene. Eine wählen: Zwillinge > Spiegelebene"
    ),
    "The other side was not made: there is no mirror plane. Choose one: Twins > Mirror Plane": (
        "Die andere Seite wurde nicht angelegt: Es gibt keine Spiegelebene. Eine wählen: Zwillinge > Spiegelebene"
    ),
    "Keyframes of {} are not mirrored: {}": "Keyframes von {} sind nicht gespiegelt: {}",
    "Restraint {} has no mirror image on the twin of its joint": (
        "Kraftelement {} hat kein Spiegelbild am Zwilling seines Gelenks"
    ),
    "Modifiers of {} are not mirrored: {}. Set those of {} by hand": (
        "Modifikatoren von {} sind nicht gespiegelt: {}. Die von {} von Hand einstellen"
    ),
    # what differs between twins
    "servo stiffness": "Servo-Steifigkeit",
    "servo damping": "Servo-Dämpfung",
}
