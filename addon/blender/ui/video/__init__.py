"""Video panel and its operators."""
