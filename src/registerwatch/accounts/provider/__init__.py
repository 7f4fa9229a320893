"""Signing in by an OpenID provider."""
