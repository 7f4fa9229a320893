"""Spreadsheets and CSV files of users: any of them is read into a table of texts, and tables are written."""
