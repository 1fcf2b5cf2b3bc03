"""Twins and symmetric editing."""
