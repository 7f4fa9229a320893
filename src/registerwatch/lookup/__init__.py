"""Looks up devices, actors, certificates, codes and histories, in the copy, else in the register."""
