"""Joints and stops: list, table, panel, operators and gizmos."""
