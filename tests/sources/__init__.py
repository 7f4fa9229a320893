"""Reading the register: wire forms, requests, guards, whole reads."""
