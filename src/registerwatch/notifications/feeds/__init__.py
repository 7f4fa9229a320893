"""Feeds to subscribe to: changes in a feed reader, certificates in a calendar."""
