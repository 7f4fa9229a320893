"""The parties by which an account's requests are counted."""

from registerwatch.accounts.models import Caller, Role


def party_of(caller: Caller) -> str:
    """The party by which a caller's requests are counted.

    All keys of an account are one, since a key makes others. Each session of an owner, which took a sign-in, is one:
    neither a stolen key nor another session uses up what the owner needs. All sessions of a member are one.
    """
    account = f"account {caller.account.id}"
    if caller.role is not Role.OWNER:
        return f"{account} member {caller.user_id}"
    return f"{account} keys" if caller.session is None else f"{account} session {caller.session}"
