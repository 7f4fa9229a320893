"""Photos of labels: the symbols that they show, and the codes in these."""
