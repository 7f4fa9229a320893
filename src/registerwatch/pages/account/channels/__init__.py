"""Pages of channels, webhooks and feeds."""
