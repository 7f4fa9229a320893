"""Signing up and coming back, as surfaces do it."""

from registerwatch.accounts.models import Caller, NewSession
from registerwatch.accounts.sessions.credentials import browser_session_of, credential_of
from registerwatch.accounts.use_cases import Accounts

EMAIL = "owner@acme.example"
PASSWORD = "correct horse"


async def signed_up(accounts: Accounts, email: str = EMAIL, password: str = PASSWORD) -> NewSession:
    """A new trial account."""
    return await accounts.sessions.trial("Acme", email, password)


async def by_key(accounts: Accounts, key: str | None) -> Caller:
    """Whom a key stands for."""
    return await accounts.sessions.caller(credential_of(key, None))


async def by_session(accounts: Accounts, session: str) -> Caller:
    """Whom a session stands for, of a program or of a browser."""
    return await accounts.sessions.caller(browser_session_of(session) or credential_of(None, session))


async def owner_of(accounts: Accounts, email: str = EMAIL) -> Caller:
    """The owner of a new account."""
    return await by_session(accounts, (await signed_up(accounts, email)).session)


async def prove_address(accounts: Accounts, email: str = EMAIL, password: str = PASSWORD) -> None:
    """Let an owner prove their address by a mailed link."""
    link = await accounts.password_reset.link(email)
    await accounts.confirmations.keep(link.rpartition("=")[2], password)
    await mails_settled(accounts)


async def mails_settled(accounts: Accounts) -> None:
    """Wait until every mail that was asked for has gone out or failed."""
    for mails in accounts.mails:
        await mails.settled()
