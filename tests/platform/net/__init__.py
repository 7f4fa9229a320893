"""Tests of `registerwatch.platform.net`."""
