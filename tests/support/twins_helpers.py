"""Helpers for tests of twins (empty)."""

from __future__ import annotations
