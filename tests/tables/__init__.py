"""Tests of `registerwatch.tables`."""
