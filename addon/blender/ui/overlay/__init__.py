"""Viewport overlay."""
