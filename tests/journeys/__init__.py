"""Journeys over the public surfaces."""
