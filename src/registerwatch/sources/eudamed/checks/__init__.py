"""Checks of EUDAMED's interface."""
