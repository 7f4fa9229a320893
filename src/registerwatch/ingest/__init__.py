"""Filling and refreshing the copy: one subject at a time, or a source from end to end."""
