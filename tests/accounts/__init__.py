"""Accounts, users, sessions, keys, passwords."""
