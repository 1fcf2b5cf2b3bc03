"""Servos as sliders, and poses that are kept by name."""

from __future__ import annotations

WORDS: dict[str, str] = {
    "Zero Servos": "Servos auf Null",
    "Pose servos at 0, or on the stop that is nearest to it": (
        "Servos auf 0 stellen oder auf den Anschlag, der 0 am nächsten ist"
    ),
    "Key Servos": "Servos keyen",
    "Insert a keyframe for each servo at the current frame, except for dependent joints": (
        "Einen Keyframe für jeden Servo im aktuellen Frame setzen, außer für abhängige Gelenke"
    ),
    "Key Servo": "Servo keyen",
    "Insert or remove the keyframe of this servo at the current frame": (
        "Den Keyframe dieses Servos im aktuellen Frame setzen oder entfernen"
    ),
    "The servos of the selected bones, joints and bodies alone": (
        "Nur die Servos der gewählten Knochen, Gelenke und Körper"
    ),
    "Zero": "Null",
    "Zero All": "Auf null",
    "Pose servos at 0, as far as their stops let them": "Servos auf 0 stellen, so weit ihre Anschläge es zulassen",
    "Pose all servos at their initial values": "Alle Servos auf ihre Anfangswerte stellen",
    "{} at 0": "{} auf 0 gestellt",
    "{} in the initial pose": "{} in der Anfangspose",
    "{} keyed at frame {}": "{} in Frame {} gekeyt",
    "{} no longer keyed at frame {}": "{} in Frame {} nicht mehr gekeyt",
    "Key All": "Alle keyen",
    # poses
    "Poses": "Posen",
    "Store Pose": "Pose speichern",
    "Keep the present pose of the servos by a name. Blender's pose library shows it, too": (
        "Die jetzige Pose der Servos unter einem Namen behalten. Auch Blenders Posenbibliothek zeigt sie"
    ),
    "Recall Pose": "Pose abrufen",
    "Pose the servos as a pose has them, all the way or in part": (
        "Die Servos stellen, wie eine Pose sie hat, ganz oder teilweise"
    ),
    "Pose the servos as {} has them{}": "Die Servos stellen, wie {} sie hat{}",
    ", as in a mirror": ", wie im Spiegel",
    "Delete Pose": "Pose löschen",
    "Delete a pose that was kept by name": "Eine unter einem Namen behaltene Pose löschen",
    "The mechanism has no poses: Store Pose keeps one": "Der Mechanismus hat keine Posen: Pose speichern behält eine",
    "A pose that has the name becomes this one": "Eine Pose, die den Namen schon hat, wird zu dieser",
    "Name of the pose": "Name der Pose",
    "Weight": "Gewichtung",
    "How far to go from the present pose": "Wie weit es von der jetzigen Pose weggeht",
    "Mirrored": "Gespiegelt",
    "Each side does what the pose has the other do": "Jede Seite tut, was in der Pose die andere tut",
    "The pose whose row is lit": "Die Pose, deren Zeile hervorgehoben ist",
    "Pose {} replaced": "Pose {} ersetzt",
    "Pose {} stored": "Pose {} gespeichert",
    "Pose {} deleted": "Pose {} gelöscht",
    "{} posed as in {}": "{} gestellt wie in {}",
    "{} has no pose called {}": "{} hat keine Pose namens {}",
    "Insert a keyframe on each servo of the selected bones, and on the transform of other objects": (
        "Einen Keyframe für jeden Servo der ausgewählten Knochen setzen und für die Transformation anderer Objekte"
    ),
    "Zero Selected": "Auswahl auf null",
    "Initial Pose": "Anfangspose",
    "Key Selected": "Auswahl keyen",
}
