"""The bulk Data Lake: every device in pages, without certificates and dates, hours later than the register."""
