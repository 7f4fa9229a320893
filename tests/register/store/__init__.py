"""Tests of `registerwatch.copy`."""
