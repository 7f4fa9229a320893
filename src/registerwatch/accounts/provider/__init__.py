"""Sign-in by an OpenID provider."""
