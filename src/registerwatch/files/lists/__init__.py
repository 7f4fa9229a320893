"""Lists of articles that accounts keep: read from a file, matched with the copy, and kept up with it."""
