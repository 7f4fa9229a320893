"""Queries for surfaces: lists of watches, the overview, one watch, certificates."""
