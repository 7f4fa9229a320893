"""Tests of `registerwatch.db`."""
