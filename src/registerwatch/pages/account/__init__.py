"""Pages of an account: signing up, signing in, and everything behind that."""
