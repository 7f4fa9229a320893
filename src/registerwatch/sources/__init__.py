"""Where records are read from (`source.py`): EUDAMED, its Data Lake, a file; and the requests that they send."""
