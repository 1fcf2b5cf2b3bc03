"""Checks of mechanisms, their fixes, and rebuilding of deleted parts."""
