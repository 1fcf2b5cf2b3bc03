"""Servo motions: keyframes, retiming, fitting to stops, matching to servos, checks."""
