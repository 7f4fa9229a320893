"""Composing and sending mails."""
