"""ASGI layers around the register's routes: the log of requests, throttling, and faults."""
