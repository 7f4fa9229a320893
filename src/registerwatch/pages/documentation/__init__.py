"""Documentation for people who use the service: pages of `docs/`, and the interface for programs."""
