"""The pages that need no account: search, device, actor, a forgotten password."""
