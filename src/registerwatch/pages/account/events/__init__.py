"""The page of events."""
