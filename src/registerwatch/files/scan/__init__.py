"""Codes on labels: which symbols a photo shows, and what the codes in them are together."""
