"""Pages for signing up and in, and second factors."""
