"""Events: what is told of a change, their words, their marks, lists of them."""
