"""Lists to download."""
