"""Import and export of models and motions."""
