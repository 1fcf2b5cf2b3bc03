"""Documents: schemas by path, what was parsed lately, and what another format cannot hold."""
