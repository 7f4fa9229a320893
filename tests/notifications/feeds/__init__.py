"""Feeds: tokens, Atom, iCalendar."""
