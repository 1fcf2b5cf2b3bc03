"""Closed loops: joint values at which they fit together, and how some follow from others."""
