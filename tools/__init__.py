"""Parts of ``build.py``: uv and its environments, the test suites, the zips of a release."""
