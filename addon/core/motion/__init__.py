"""Servo motions: keyframes, retiming, fitting to a mechanism, matching of servo names, checks, root motion."""
