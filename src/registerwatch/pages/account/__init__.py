"""Pages of an account: signing up and in, and what people see and do once they are."""
