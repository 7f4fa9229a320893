"""Pages of watches, their certificates, and lists that become watches."""
