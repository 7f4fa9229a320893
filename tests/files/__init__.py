"""Tests of `registerwatch.files`."""
