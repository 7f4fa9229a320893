"""Tests of Registerwatch, from the public surfaces inwards."""
