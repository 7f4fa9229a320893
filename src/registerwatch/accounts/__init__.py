"""Who gets in: accounts, users, sessions, API keys, passwords, plans."""
