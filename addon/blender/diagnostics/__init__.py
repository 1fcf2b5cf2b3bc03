"""Self-check of an installation."""
