"""Imports: lists of identifiers that become watches."""
