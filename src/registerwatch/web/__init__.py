"""Shared parts of all HTTP surfaces: credentials, rate limits, conditional requests."""
