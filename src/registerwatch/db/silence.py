"""Noticing that a PostgreSQL server is gone without a word, as when its host has lost its power or its network.

Else a connection that is in use waits for a quarter of an hour, as the system's TCP does.
"""

from collections.abc import Container

_OPTIONS = {
    "tcp_user_timeout": 5_000,  # milliseconds until what was sent must have arrived
    "keepalives_idle": 5,  # seconds without anything said until the server is asked whether it is there
    "keepalives_interval": 2,
    "keepalives_count": 3,
}
"""Parameters of libpq. Connections by a socket file know no such trouble and ignore them."""


def silence_options(named: Container[str]) -> dict[str, int]:
    """Parameters of a connection, but for those that its address names."""
    return {name: value for name, value in _OPTIONS.items() if name not in named}
