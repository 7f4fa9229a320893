"""The command line: thin commands over the same use cases as the other surfaces."""
