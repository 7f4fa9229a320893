"""The database room."""
