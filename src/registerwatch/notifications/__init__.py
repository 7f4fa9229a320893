"""Notifications: accounts' addresses, and delivery of signed events to them."""
