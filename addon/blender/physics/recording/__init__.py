"""Recordings of simulations: as keyframes, and as figures about their accuracy."""
