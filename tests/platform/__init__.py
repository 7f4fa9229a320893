"""Tests of `registerwatch.platform`."""
