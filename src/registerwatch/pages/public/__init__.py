"""Pages without an account: search, devices, actors, certificates, documentation, links of mails."""
