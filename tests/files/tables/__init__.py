"""Tests of `registerwatch.files.tables`."""
