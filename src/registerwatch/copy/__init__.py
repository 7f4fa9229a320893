"""The stored copy: writes of records, and fast reads of them."""
