"""A stand-in for EUDAMED.

The register's JSON interface and the bulk Data Lake, over a generated or a filed world.
"""
