"""Sweeps of devices and of certificates."""
