"""What routes of accounts, channels, webhooks and health answer."""
