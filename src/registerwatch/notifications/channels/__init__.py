"""Ways in which a notification reaches somebody."""
