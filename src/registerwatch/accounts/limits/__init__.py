"""What an account may use, and the places that accounts share."""
