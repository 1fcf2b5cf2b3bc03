"""Helpers shared by tests: twins."""

from __future__ import annotations
