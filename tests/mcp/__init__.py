"""Tests of `registerwatch.mcp`."""
