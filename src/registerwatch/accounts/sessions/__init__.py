"""Signing in, sessions, API keys."""
