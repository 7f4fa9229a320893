"""The database harness."""
