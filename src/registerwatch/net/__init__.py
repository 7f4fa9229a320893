"""Requests to addresses that strangers gave us: which of them may be asked, and asking them safely."""
