"""Watching: what an account cares about, what was last seen of it, what changed."""
