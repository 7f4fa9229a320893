"""Detects that a PostgreSQL server is gone silently, as when its host has lost its power or its network.

Otherwise a connection in use waits for a quarter of an hour, as the system's TCP does.
"""

from collections.abc import Container

_OPTIONS = {
    "tcp_user_timeout": 5_000,  # milliseconds until what was sent must have arrived
    "keepalives_idle": 5,  # seconds of silence until the server is asked whether it is there
    "keepalives_interval": 2,
    "keepalives_count": 3,
}
"""Parameters of libpq. Connections by a socket file cannot fall silent and ignore them."""


SERVER_SETTINGS = {
    "tcp_keepalives_idle": "10s",
    "tcp_keepalives_interval": "5s",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "25s",
    "idle_in_transaction_session_timeout": "5min",
    "lock_timeout": "60s",
}
"""Settings of the server for a connection that writes: else the locks of a node whose host went silent would stay for
hours, and others would wait for them without an end.
"""


def silence_options(named: Container[str]) -> dict[str, int]:
    """Parameters of a connection, but for those that its address names."""
    return {name: value for name, value in _OPTIONS.items() if name not in named}
