"""Inputs of gaits: presets and Live Input."""

from __future__ import annotations

WORDS: dict[str, str] = {
    "Inputs": "Eingaben",
    "Inputs of the gait to begin with": "Eingaben des Gangs, mit denen begonnen wird",
    "Forward for the samples of the extension, else all at 0": "Vorwärts bei den Beispielen der Erweiterung, sonst alle auf 0",
    "Set Inputs": "Eingaben setzen",
    "Set the inputs of the gait by a preset. An unedited Action of the gait is baked anew with them": (
        "Die Eingaben des Gangs nach einer Vorgabe setzen. Eine unbearbeitete Action des Gangs wird damit neu gebacken"
    ),
    "Preset": "Vorgabe",
    "Inputs to set": "Zu setzende Eingaben",
    "Stand": "Stehen",
    "Forward": "Vorwärts",
    "Backward": "Rückwärts",
    "Turn Left": "Nach links drehen",
    "Turn Right": "Nach rechts drehen",
    "Inputs at which the mechanism stays where it is": "Eingaben, bei denen der Mechanismus bleibt, wo er ist",
    "Inputs at which the mechanism goes forward": "Eingaben, bei denen der Mechanismus vorwärts geht",
    "Inputs at which the mechanism goes backward": "Eingaben, bei denen der Mechanismus rückwärts geht",
    "Inputs at which the mechanism turns to the left": "Eingaben, bei denen sich der Mechanismus nach links dreht",
    "Inputs at which the mechanism turns to the right": "Eingaben, bei denen sich der Mechanismus nach rechts dreht",
    "The gait of the mechanism reads no input": "Der Gang des Mechanismus liest keine Eingabe",
    "No input lets the mechanism do this: {}": "Keine Eingabe lässt den Mechanismus das tun: {}",
    "The keyframes of {} override the preset. Remove them to use it": (
        "Die Keyframes von {} haben Vorrang vor der Vorgabe. Zum Benutzen entfernen"
    ),
}
