"""Base classes and helpers that operators and panels share."""
