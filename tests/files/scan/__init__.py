"""Tests of `registerwatch.files.scan`."""
