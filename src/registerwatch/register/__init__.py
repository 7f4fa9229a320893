"""The register: reading EUDAMED, keeping a stored copy of it, searching the copy."""
