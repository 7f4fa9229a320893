"""Tests of `registerwatch.pages`."""
