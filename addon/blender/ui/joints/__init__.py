"""Joints and stops."""
