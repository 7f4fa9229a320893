"""Registerwatch: a stored copy of EUDAMED that is searched, read and watched."""

__version__ = "1.0.0"
"""The version of the package, `/openapi.json`, `/health` and the tool endpoint."""
