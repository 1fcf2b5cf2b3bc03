"""Records of what the viewport overlay shows."""
