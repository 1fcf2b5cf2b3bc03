"""Shift: multibody models in JSON, with assemblies of bodies and joints that may close loops."""
