"""Tests of saved lists."""
