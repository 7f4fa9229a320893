"""Files that users send: spreadsheets, saved lists, photos of labels."""
