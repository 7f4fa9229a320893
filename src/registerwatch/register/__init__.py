"""The register's records, codes, identifiers and certificates, and what observers of reads get."""
