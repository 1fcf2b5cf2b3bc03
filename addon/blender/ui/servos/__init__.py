"""Servos posed, keyed and named."""
