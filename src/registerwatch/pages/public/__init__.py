"""Pages without an account: search, devices, actors, certificates, links."""
