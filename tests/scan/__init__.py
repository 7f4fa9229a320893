"""Tests of `registerwatch.scan`."""
