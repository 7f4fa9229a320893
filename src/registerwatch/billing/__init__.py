"""Paying: what the payment provider says of an account's subscription, and what the account has for it."""
