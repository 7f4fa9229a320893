"""Pages that mails and payments lead to."""
