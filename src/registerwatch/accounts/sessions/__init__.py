"""Sign-in, sessions, API keys."""
