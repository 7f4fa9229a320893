"""Tests of `registerwatch.notifications.channels`."""
