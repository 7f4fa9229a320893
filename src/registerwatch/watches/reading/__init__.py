"""Reads of watched subjects: by syncs, rechecks and sweeps."""
