"""Mails a user about a sign-in from a network from which they had not signed in lately."""

import ipaddress
from collections.abc import Collection, Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.notices import AccountNotices
from registerwatch.accounts.repository import StoredUser
from registerwatch.accounts.sessions import known_clients
from registerwatch.accounts.sessions.clients import UNKNOWN_CLIENT, Client
from registerwatch.mail.mailer import Mail

IPV4_PLACE, IPV6_PLACE = 16, 32
"""Bits of the network that counts as one place: providers give customers other addresses of it from day to day."""


def is_new_place(client: Client, known: Collection[str]) -> bool:
    """Whether a client is in none of the networks of the addresses from which its user signed in.

    False for a user without known addresses.
    """
    if not known or client == UNKNOWN_CLIENT:
        return False
    return _place_of(client.address) not in {_place_of(each) for each in known}


async def prepare_notice(
    connection: AsyncConnection, notices: AccountNotices, user: StoredUser, client: Client, now: int, *, how: str = ""
) -> Sequence[Mail]:
    """The mail to a user who signs in, for `notices.send`. Call it before the client is remembered.

    The mail does not name the browser: it can claim to be any.
    """
    if client == UNKNOWN_CLIENT or not is_new_place(client, await known_clients.addresses_of(connection, user.id, now)):
        return ()
    return await notices.prepare_sign_in(connection, user, f"signed in from {client.address} {how}".rstrip())


def _place_of(address: str) -> str:
    try:
        network = ipaddress.ip_network(address, strict=False)
    except ValueError:
        return address
    bits = IPV4_PLACE if network.version == 4 else IPV6_PLACE
    return str(network.supernet(new_prefix=min(bits, network.prefixlen)))
