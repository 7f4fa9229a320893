"""The client of a sign-in, as far as accounts need to know it."""

import msgspec


class Client(msgspec.Struct, frozen=True):
    """The client of a request.

    `address` is an IPv4 address or, of an IPv6 address, its /64. `network` is the widest network that one party is
    likely to have all of: the IPv4 address again, or the /48.
    """

    address: str
    network: str


UNKNOWN_CLIENT = Client("unknown", "unknown")
"""The client of commands and tests."""
