"""Stand-ins that ship with the product.

They speak an outside service's interface and share no code with its client.
"""
