"""Mechanism panel, report and menus."""
