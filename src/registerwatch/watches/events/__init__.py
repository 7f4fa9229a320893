"""Events: reports of changes, with their words, their marks and their lists."""
