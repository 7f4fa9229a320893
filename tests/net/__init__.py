"""Tests of `registerwatch.net`."""
