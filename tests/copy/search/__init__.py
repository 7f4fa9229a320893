"""The search index: words, searches, writing."""
