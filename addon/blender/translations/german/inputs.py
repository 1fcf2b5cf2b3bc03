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
    "Turn Left": "Linksdrehung",
    "Turn Right": "Rechtsdrehung",
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
    "Live Input": "Live-Eingabe",
    "Play, and move the inputs of the gait, or servos, with arrow keys, WASD, Q and E": (
        "Abspielen und dabei die Eingaben des Gangs oder Servos mit Pfeiltasten, WASD, Q und E bewegen"
    ),
    "Live Input is on: Esc ends it": "Die Live-Eingabe läuft: Esc beendet sie",
    "The mechanism has no gait with inputs: map servos to keys first": (
        "Der Mechanismus hat keinen Gang mit Eingaben: zuerst Servos mit Tasten belegen"
    ),
    "Ragdoll: the servos are off. Set the drive to Keyframes or Servos": (
        "Ragdoll: die Servos sind aus. Den Antrieb auf Keyframes oder Servos stellen"
    ),
    "The bodies have keyframes of their own: Remove Body Keyframes first": (
        "Die Körper haben eigene Keyframes: zuerst Körper-Keyframes entfernen"
    ),
    "Select a joint with one servo": "Ein Gelenk mit einem Servo auswählen",
    "The servo is mapped already": "Der Servo ist schon belegt",
    "No servo is mapped to keys": "Kein Servo ist mit Tasten belegt",
    "There are only {} mapped servos": "Nur {} Servos sind belegt",
    "Map Servo to Keys": "Servo mit Tasten belegen",
    "Let a pair of keys move the active servo during Live Input": (
        "Den aktiven Servo während der Live-Eingabe durch ein Tastenpaar bewegen lassen"
    ),
    "Unmap Servo": "Belegung entfernen",
    "Let no key move the servo during Live Input": "Den Servo während der Live-Eingabe von keiner Taste bewegen lassen",
    "Live Input Keys": "Tasten der Live-Eingabe",
    "Index": "Index",
    "Position in the list of mapped servos": "Stelle in der Liste der belegten Servos",
    "Live Input needs a window: call it from a 3D View": (
        "Die Live-Eingabe braucht ein Fenster: aus einer 3D-Ansicht aufrufen"
    ),
    "Paused": "Angehalten",
    "Playing": "Läuft",
    "Recording": "Aufnahme",
    "Space pauses, R restarts, Esc ends": "Leertaste hält an, R beginnt neu, Esc beendet",
    "Keyframes play in place: with drive Servos it walks": "Keyframes laufen auf der Stelle: mit dem Antrieb Servos läuft es",
    "Up/W, Down/S": "Auf/W, Ab/S",
    "Arrow keys up and down, or W and S": "Pfeiltasten auf und ab oder W und S",
    "Right/D, Left/A": "Rechts/D, Links/A",
    "Arrow keys right and left, or D and A": "Pfeiltasten rechts und links oder D und A",
    "E, Q": "E, Q",
    "Keys E and Q": "Tasten E und Q",
    "I, K": "I, K",
    "Keys I and K": "Tasten I und K",
    "L, J": "L, J",
    "Keys L and J": "Tasten L und J",
    "O, U": "O, U",
    "Keys O and U": "Tasten O und U",
    "Pair of keys that moves the servo": "Tastenpaar, das den Servo bewegt",
    "Speed while a key is held, in rad or length units per second": (
        "Geschwindigkeit bei gedrückter Taste in rad oder Längeneinheiten je Sekunde"
    ),
    "Record": "Aufnehmen",
    "Write the inputs as keyframes, one per frame, from the first frame on": (
        "Die Eingaben als Keyframes schreiben, eines je Frame, vom ersten Frame an"
    ),
    "Servo Values": "Servowerte",
    "Write the values of the servos as well, as an Action that does not play yet": (
        "Auch die Werte der Servos schreiben, als Action, die noch nicht spielt"
    ),
    "Follow in View": "In der Ansicht folgen",
    "Move the view along with the root body": "Die Ansicht mit dem Wurzelkörper mitbewegen",
    "Smoothing": "Glättung",
    "Time in which an input comes most of its way": "Zeit, in der eine Eingabe den größten Teil ihres Weges zurücklegt",
    "Recorded frames {} to {}": "Frames {} bis {} aufgenommen",
    "Bake Gait writes the motion": "Gang backen schreibt die Bewegung",
    "The target is the gait now": "Das Ziel ist jetzt der Gang",
    "Servo values are in Action {}": "Die Servowerte stehen in der Action {}",
    "Live Input ended. Nothing was recorded: switch on Record before it": (
        "Live-Eingabe beendet. Nichts wurde aufgenommen: vorher Aufnehmen einschalten"
    ),
    "Action {} plays the servo values": "Die Action {} spielt die Servowerte",
    "Undo ended Live Input": "Rückgängig hat die Live-Eingabe beendet",
    "The mechanism was deleted, which ended Live Input": (
        "Der Mechanismus wurde gelöscht: das hat die Live-Eingabe beendet"
    ),
}
