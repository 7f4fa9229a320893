"""What people would search the copy with instead: SQLite's full-text search, PostgreSQL."""
