"""Tests of `registerwatch.billing`."""
