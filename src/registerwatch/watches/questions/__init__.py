"""What surfaces ask of watches: lists, the overview, one watch, certificates."""
