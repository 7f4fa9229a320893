"""The stand-in payment provider."""
