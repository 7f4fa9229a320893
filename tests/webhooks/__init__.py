"""What HTTP surfaces share."""
