"""Closed kinematic loops: kept closed while joints are posed and animated."""
