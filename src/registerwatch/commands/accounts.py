"""`registerwatch accounts …`: making, showing, setting and deleting accounts."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Column, Table

from registerwatch.accounts.models import Account, NewAccount, NewKey, Profile
from registerwatch.accounts.plans import PlanName
from registerwatch.accounts.use_cases import Accounts
from registerwatch.accounts.validation import MAX_LABEL_LENGTH
from registerwatch.bootstrap import build_service
from registerwatch.errors import InvalidInput
from registerwatch.platform import logs
from registerwatch.platform.clock import iso_utc
from registerwatch.platform.db.migrate import upgrade
from registerwatch.settings import load_settings

UNBROKEN = 1_000
"""Characters of a line, enough for an e-mail address, a name and the other columns."""

app = typer.Typer(no_args_is_help=True)

Email = Annotated[str, typer.Argument(help="E-mail address of one of the account's users.", metavar="EMAIL")]
PeriodEnd = Annotated[
    str | None, typer.Option(help="End of the period: 2027-01-31, or 2027-01-31T12:00:00Z. UTC unless it says so.")
]


@app.callback()
def _group() -> None:
    """Accounts: who is there, plans, periods, keys."""


@app.command("list")
def list_accounts() -> None:
    """List every account, oldest first."""
    asyncio.run(_list())


@app.command("show")
def show(email: Email) -> None:
    """Show an account with its users and keys."""
    asyncio.run(_show(email))


@app.command("set")
def set_period(
    email: Email,
    plan: Annotated[PlanName | None, typer.Option(help="The plan that the caps follow.")] = None,
    expires_at: PeriodEnd = None,
) -> None:
    """Set the plan or the end of the period, or both."""
    if plan is None and expires_at is None:
        raise InvalidInput("Say what to set: --plan, --expires-at, or both.")
    asyncio.run(_set(email, plan, _instant_if_given(expires_at)))


@app.command("create")
def create(
    email: Annotated[str, typer.Argument(help="E-mail address of the account's owner.", metavar="EMAIL")],
    plan: Annotated[PlanName, typer.Option(help="The plan that the caps follow.")] = PlanName.TRIAL,
    name: Annotated[str, typer.Option(help="Company name; by default the domain of the address.")] = "",
    expires_at: PeriodEnd = None,
) -> None:
    """Make an account, and print a link with which its owner sets a password, once, within an hour.

    Without --expires-at the account lasts as long as a trial.
    """
    made = asyncio.run(_create(email, name, plan, _instant_if_given(expires_at)))
    typer.echo(made.link)
    typer.echo(f"The account {made.profile.account.email} is made, {_until(made.profile.account)}.", err=True)


@app.command("delete")
def delete(
    email: Annotated[str, typer.Argument(help="E-mail address of an owner of the account.", metavar="EMAIL")],
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking.")] = False,
) -> None:
    """Delete an account with all that is in it, for good, and cancel its subscription."""
    account = asyncio.run(_owned(email))
    if not yes:
        typer.confirm(_deletion_question(account), abort=True, err=True)
    asyncio.run(_delete(account.account.id))
    typer.echo(f"The account {account.account.email} is deleted.")


@app.command("key")
def key(
    email: Email,
    label: Annotated[str, typer.Option(help=f"What the key is for; trimmed to {MAX_LABEL_LENGTH} characters.")] = "",
) -> None:
    """Make an API key of an account and print it: the only time that it is shown."""
    typer.echo(asyncio.run(_key(email, label)).secret)


@app.command("reset-link")
def reset_link(email: Email) -> None:
    """Print a link with which a user sets a new password, once, within an hour: for services that send no mail."""
    asyncio.run(_reset_link(email))


@app.command("reset-second-factor")
def reset_second_factor(
    email: Email,
    yes: Annotated[bool, typer.Option("--yes", help="Remove them without asking.")] = False,
) -> None:
    """Remove the authenticator app, passkeys and recovery codes of a user who has lost them; they sign in by password.

    Make sure first who asks: by a way that does not lead over their mailbox.
    """
    if not yes:
        typer.confirm(f"Remove all second factors of {email}? They and the owners are mailed.", abort=True, err=True)
    asyncio.run(_reset_second_factor(email))
    typer.echo(f"The second factors of {email} are removed.")


def instant(text: str) -> int:
    """ISO 8601 as unix seconds, UTC if no zone is given. Raises `InvalidInput`."""
    try:
        moment = datetime.fromisoformat(text)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        raise InvalidInput(f"“{text}” is no time; write 2027-01-31 or 2027-01-31T12:00:00Z.") from None


def _instant_if_given(text: str | None) -> int | None:
    return None if text is None else instant(text)


def _deletion_question(profile: Profile) -> str:
    users = f"{len(profile.users)} user{'s' if len(profile.users) > 1 else ''}"
    account = f"{profile.account.email} ({profile.account.name})"
    return f"Delete the account {account} with its {users}, keys, watches and events, for good?"


async def _list() -> None:
    async with _opened() as accounts:
        listed = await accounts.admin.all()
    whole = [Column(title, overflow="fold") for title in ("e-mail", "name")]
    table = Table(*whole, "plan", "until", "users", box=None, pad_edge=False)
    for each in listed:
        table.add_row(
            each.account.email, each.account.name, each.account.plan.name, _until(each.account), f"{each.users}"
        )
    _console().print(table if listed else "There is no account yet.")


async def _show(email: str) -> None:
    async with _opened() as accounts:
        _print(await accounts.admin.profile(email))


async def _set(email: str, plan: PlanName | None, expires_at: int | None) -> None:
    async with _opened() as accounts:
        _print(await accounts.admin.set_period(email, plan, expires_at))


async def _create(email: str, name: str, plan: PlanName, expires_at: int | None) -> NewAccount:
    async with _opened() as accounts:
        return await accounts.admin.create(email, name, plan, expires_at)


async def _owned(email: str) -> Profile:
    async with _opened() as accounts:
        return await accounts.admin.owned(email)


async def _delete(account_id: int) -> None:
    async with _opened() as accounts:
        await accounts.deletion.delete_without_password(account_id)


async def _key(email: str, label: str) -> NewKey:
    async with _opened() as accounts:
        return await accounts.api_keys.create(await accounts.admin.caller(email), label)


async def _reset_link(email: str) -> None:
    async with _opened() as accounts:
        typer.echo(await accounts.password_reset.link(email))


async def _reset_second_factor(email: str) -> None:
    async with _opened() as accounts:
        await accounts.second_factors.reset(email)


def _print(profile: Profile) -> None:
    account = profile.account
    lines = [
        f"account  {account.email}, {account.name}, since {iso_utc(account.created_at)}",
        f"plan     {account.plan.name}, {_until(account)}; at most {account.plan.watches:,} watches",
        *(f"user     {user.id}: {user.email}, {user.role}" for user in profile.users),
        *(f"key      {key.id}: {key.prefix} {key.label}{', revoked' if key.revoked else ''}" for key in profile.keys),
    ]
    _console().print("\n".join(lines), soft_wrap=True)


def _console() -> Console:
    """A console that shows texts unchanged, and does not cut them for a program that reads them."""
    return Console(highlight=False, markup=False, emoji=False, width=None if sys.stdout.isatty() else UNBROKEN)


def _until(account: Account) -> str:
    ended = account.has_expired(datetime.now(UTC).timestamp())
    return f"{'ended' if ended else 'until'} {iso_utc(account.expires_at)}"


@asynccontextmanager
async def _opened() -> AsyncIterator[Accounts]:
    """Accounts over an up-to-date database."""
    settings = load_settings()
    logs.set_up(settings.log_format)
    service = build_service(settings)
    await upgrade(service.database)
    try:
        yield service.accounts
    finally:
        await service.close()
