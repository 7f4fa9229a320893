"""What comes back of mails, and ending them."""
