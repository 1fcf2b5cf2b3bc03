"""Public names of release 1.0 for parts of ``core``."""
