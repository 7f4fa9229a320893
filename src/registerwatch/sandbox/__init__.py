"""Stand-ins that ship with the product: they speak an outside service's interface and share no code with its client."""
