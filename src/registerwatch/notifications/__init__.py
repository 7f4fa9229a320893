"""Webhooks: the addresses of accounts, and delivering signed events to them."""
