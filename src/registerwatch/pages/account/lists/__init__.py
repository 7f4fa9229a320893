"""Pages of saved lists and of scanning."""
