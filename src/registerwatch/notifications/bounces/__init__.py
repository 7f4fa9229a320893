"""Undeliverable mails and unsubscriptions."""
