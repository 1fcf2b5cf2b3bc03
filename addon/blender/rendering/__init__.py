"""Videos, posters and contact sheets of mechanisms."""
