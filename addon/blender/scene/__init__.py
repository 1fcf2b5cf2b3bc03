"""Materials, samples, temporary scenes and files."""
