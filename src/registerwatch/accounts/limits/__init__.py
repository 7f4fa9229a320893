"""Limits of an account, and the quotas that accounts share."""
