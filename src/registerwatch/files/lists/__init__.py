"""Saved lists: articles of accounts, read from files and matched with the copy, which they follow."""
