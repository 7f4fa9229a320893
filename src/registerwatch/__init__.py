"""Registerwatch: a stored copy of EUDAMED that is searched, read and watched."""

__version__ = "0.1.0"
