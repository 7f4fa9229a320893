"""Tests of `registerwatch.pages.public`."""
