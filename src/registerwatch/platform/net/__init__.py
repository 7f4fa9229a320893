"""Requests to URLs that users entered: checking their addresses, and sending safely."""
