"""Addresses of targets in stored form. Where an address is a secret itself, only its ends are shown."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from registerwatch.notifications.channels import Channel

SHOWN_OF_END = 4
"""Last characters of a secret address, which distinguish it from others."""


@dataclass(frozen=True, slots=True)
class StoredAddress:
    """The stored `Target.url` and `Target.secret`; the secret is not yet encrypted."""

    url: str
    secret: str = field(repr=False)


def stored_address(channel: Channel, text: str) -> StoredAddress:
    """The entered address, and the signing secret of a new target there. Raises `InvalidInput`."""
    address = channel.check_target(text)
    if channel.address_is_secret:
        return StoredAddress(shortened(address), address)
    return StoredAddress(address, channel.new_secret())


def shortened(address: str) -> str:
    """The host and the last characters of an address whose path is a secret."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}/…{address[-SHOWN_OF_END:]}"
