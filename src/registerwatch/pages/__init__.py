"""Pages for people: public ones and those of accounts."""
