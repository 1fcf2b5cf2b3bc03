"""Public name of ``scene.read.mechanism``: reads mechanisms from a scene."""

from .scene.read.mechanism import document_ids, extract, extract_design, own_ids

__all__ = ["document_ids", "extract", "extract_design", "own_ids"]
