"""Spreadsheets and CSV files: any of them is read into a table of texts, and tables are written."""
