"""Tests of `registerwatch.watches`."""
