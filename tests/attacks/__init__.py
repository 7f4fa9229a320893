"""Attacks on a running service: what a stranger or a free trial tries against all others."""
