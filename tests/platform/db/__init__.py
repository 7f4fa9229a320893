"""Tests of `registerwatch.platform.db`."""
