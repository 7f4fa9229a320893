"""Payments: an account's subscription at the payment provider, and the plan that the account has for it."""
