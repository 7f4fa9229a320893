"""News of manufacturers and ends of certificates, told to the watches that they concern."""
