"""Requests to URLs that users entered: checks of their addresses, and safe sending."""
