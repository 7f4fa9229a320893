"""Accounts, users, sessions, API keys, passwords, plans."""
