"""Rigid-body constraints of joints and restraints."""
