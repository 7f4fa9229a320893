"""Watches: the subjects that accounts watch, their last snapshots and their changes."""
