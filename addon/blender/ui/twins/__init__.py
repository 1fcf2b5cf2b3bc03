"""Twins panel and its operators."""
