"""Tests of `registerwatch.register`."""
