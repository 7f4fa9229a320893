"""Delivery of what is due, and its log."""
