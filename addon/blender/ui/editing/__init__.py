"""Operators that edit bodies and joints."""
