"""The register room."""
