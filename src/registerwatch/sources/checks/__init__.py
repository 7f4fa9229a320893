"""Assumptions about the sources' answers, and their checks: daily, and when an operator asks."""
