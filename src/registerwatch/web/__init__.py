"""What every HTTP surface shares: credentials, rate limits, conditional requests."""
