"""Gaits of Juice models: behaviors, signal network, clock, presets and live input."""
