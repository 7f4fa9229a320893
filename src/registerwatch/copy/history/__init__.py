"""Stored history."""
