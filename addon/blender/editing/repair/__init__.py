"""Checks, their fixes, and deleted parts made again."""
