"""The shapes in which the register sends its records, key by key as the live service does."""
