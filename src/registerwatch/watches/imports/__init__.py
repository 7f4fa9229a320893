"""Lists of identifiers that become watches."""
