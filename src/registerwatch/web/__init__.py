"""What every HTTP surface shares: who asks, how often, what they have already."""
