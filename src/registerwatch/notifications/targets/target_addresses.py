"""Addresses of targets as they are stored. Where an address is a secret itself, only its ends are shown."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from registerwatch.notifications.channels import Channel

SHOWN_OF_END = 4
"""Characters of a secret address's end, by which people tell two of them apart."""


@dataclass(frozen=True, slots=True)
class StoredAddress:
    """What `Target.url` and `Target.secret` are stored as; the secret is not yet encrypted."""

    url: str
    secret: str = field(repr=False)


def stored_address(channel: Channel, text: str) -> StoredAddress:
    """The address that somebody entered, and what a new target there is signed with. Raises `InvalidInput`."""
    address = channel.check_target(text)
    if channel.address_is_secret:
        return StoredAddress(shortened(address), address)
    return StoredAddress(address, channel.new_secret())


def shortened(address: str) -> str:
    """The host and the last characters of an address whose path is a secret."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}/…{address[-SHOWN_OF_END:]}"
