"""Where records are read from: EUDAMED, its Data Lake, a file; and the budget of requests they share."""
