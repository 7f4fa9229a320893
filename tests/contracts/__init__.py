"""What every adapter of an outside service keeps to, the real ones and those that stand in."""
