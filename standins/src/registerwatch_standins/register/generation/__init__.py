"""How a generated world computes each of its records from the record's number."""
