"""Delivering what is due, and the log of it."""
