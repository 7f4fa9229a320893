"""Pages of comparisons and histories."""
