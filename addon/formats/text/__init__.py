"""Text files: file I/O and encodings, format detection, and XML, JSON, tables and numbers with source positions."""
