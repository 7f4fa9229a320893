"""Tests of `registerwatch.register.store`."""
