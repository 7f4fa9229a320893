"""Authenticator apps, recovery codes, passkeys."""
