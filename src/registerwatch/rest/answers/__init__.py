"""Answers of the routes of accounts, channels, webhooks and health."""
