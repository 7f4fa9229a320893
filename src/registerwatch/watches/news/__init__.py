"""News of manufacturers and ends of certificates, reported to the watches concerned."""
