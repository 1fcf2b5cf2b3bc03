"""Motion panel and its operators."""
