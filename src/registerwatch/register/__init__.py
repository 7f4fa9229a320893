"""The register's records, codes, identifiers and certificates; observers of reads."""
