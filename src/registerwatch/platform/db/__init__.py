"""The database: one engine for SQLite and PostgreSQL, the tables, the migrations."""
