"""Servos: sliders, keyframes, names in motion files, and stored poses."""
