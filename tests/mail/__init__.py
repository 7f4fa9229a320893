"""Tests of the mail harness."""
