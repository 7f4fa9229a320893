"""Targets of an account, over all channels."""
