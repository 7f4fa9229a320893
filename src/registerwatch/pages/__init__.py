"""The pages for people: search, device, actor, errors."""
