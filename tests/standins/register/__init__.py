"""Tests of the stand-in register."""
