"""Tests of `registerwatch.ingest`."""
