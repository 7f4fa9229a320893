"""Pages for people: search, device, actor, account, documentation, errors."""
