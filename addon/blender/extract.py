"""Mechanisms read from a scene: the public name of ``scene.read.mechanism``."""

from .scene.read.mechanism import document_ids, extract, extract_design, own_ids

__all__ = ["document_ids", "extract", "extract_design", "own_ids"]
