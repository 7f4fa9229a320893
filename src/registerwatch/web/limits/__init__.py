"""Limits of requests: rates, sizes, connections, and whom a request is counted for."""
