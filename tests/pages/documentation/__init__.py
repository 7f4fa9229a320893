"""Tests of `registerwatch.pages.documentation`."""
