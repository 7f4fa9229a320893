"""Passwords, and proofs of who one is."""
