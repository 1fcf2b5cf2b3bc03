"""Rigid bodies: collision shapes and filters, inertia, penetration."""
