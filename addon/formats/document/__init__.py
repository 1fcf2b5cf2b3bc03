"""Documents of all formats: field tables, the cache of parsed documents, and the losses of conversions."""
