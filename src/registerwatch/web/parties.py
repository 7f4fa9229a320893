"""What requests of an account are counted by, beside their address."""

from registerwatch.accounts.models import Caller, Role


def party_of(caller: Caller) -> str:
    """What the requests of a caller are counted by.

    All keys of an account together, since a key makes others. Each session of an owner, which took a sign-in: neither a
    stolen key nor somebody else's session uses up what the owner needs. All sessions of a member together.
    """
    account = f"account {caller.account.id}"
    if caller.role is not Role.OWNER:
        return f"{account} member {caller.user_id}"
    return f"{account} keys" if caller.session is None else f"{account} session {caller.session}"
