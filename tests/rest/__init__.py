"""The REST surface."""
