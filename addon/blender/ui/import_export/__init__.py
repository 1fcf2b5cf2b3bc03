"""Import and export of mechanisms and motions."""
