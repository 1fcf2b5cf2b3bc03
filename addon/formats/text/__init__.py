"""Text files: encodings, what a file is, XML, JSON, tables and numbers with their places."""
