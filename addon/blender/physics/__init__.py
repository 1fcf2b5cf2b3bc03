"""The rigid-body world: what makes a model fall, stand and walk. Building and clearing it are inverse."""
