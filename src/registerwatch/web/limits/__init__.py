"""Limits of requests: rates, sizes, connections, and by whom requests are counted."""
