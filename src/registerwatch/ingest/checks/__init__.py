"""Checks of how the register answers."""
