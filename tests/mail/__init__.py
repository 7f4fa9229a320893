"""Tests of `registerwatch.mail`."""
