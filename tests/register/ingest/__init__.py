"""Tests of `registerwatch.register.ingest`."""
