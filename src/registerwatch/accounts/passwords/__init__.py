"""Passwords, and proofs of identity."""
