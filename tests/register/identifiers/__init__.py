"""Tests of how codes and identifiers are read."""
