"""Work in the background: loops that end cleanly with the process."""
