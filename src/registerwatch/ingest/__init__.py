"""Fills and refreshes the copy: one subject at a time, or a source from end to end."""
