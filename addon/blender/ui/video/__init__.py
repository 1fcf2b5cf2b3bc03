"""Video: settings, panel and operators."""
