"""Pages of certificates."""
