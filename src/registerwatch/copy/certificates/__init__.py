"""Stored certificates."""
