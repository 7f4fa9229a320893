"""EUDAMED's public JSON interface: its wire forms, its requests with their guards, the results of reads."""
