"""Reading what is watched: syncs, rechecks, and what sweeps ask for."""
