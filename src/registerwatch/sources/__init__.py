"""Sources of records (`source.py`): EUDAMED, its Data Lake, a file; and the requests that they send."""
