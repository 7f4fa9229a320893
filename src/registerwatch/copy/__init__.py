"""The stored copy: writing what was read, fast reads of what is stored."""
