"""Work in the background, in loops."""
