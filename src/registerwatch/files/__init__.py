"""Files that users send: tables of any spreadsheet, lists that are kept, photos of labels."""
