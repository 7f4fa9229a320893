"""Tests of `registerwatch.notifications`."""
