"""Sign-in by the OpenID provider in the settings: which user it is, and linking a user to it.

The provider replaces the password. It replaces the second factor too where it says that it asked for one
(docs/decisions/0040-sign-in-by-a-provider.md). It never opens an account.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository
from registerwatch.accounts.audit.audit import Action
from registerwatch.accounts.models import Caller, NewSession
from registerwatch.accounts.notices import AccountNotices, NoticeKind
from registerwatch.accounts.plans import Plans
from registerwatch.accounts.provider import provider_repository
from registerwatch.accounts.provider.provider_repository import ProviderLink, ProviderPerson, StoredRequest
from registerwatch.accounts.repository import StoredUser
from registerwatch.accounts.second_factors import second_factor_repository
from registerwatch.accounts.second_factors.second_factors import user_of
from registerwatch.accounts.sessions import credentials, new_places, sign_in_steps
from registerwatch.accounts.sessions.clients import UNKNOWN_CLIENT, Client
from registerwatch.accounts.sessions.sign_in import sign_in
from registerwatch.accounts.sessions.sign_in_steps import NewStep
from registerwatch.accounts.validation import email_address
from registerwatch.errors import InvalidInput, ProviderSignInFailed
from registerwatch.mail.mailer import Mail
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database

if TYPE_CHECKING:
    from registerwatch.accounts.provider.provider_client import ProviderClient

NOT_SET_UP = "Nobody signs in that way here."
TOO_LATE = "This took longer than ten minutes, or was begun in another browser. Try again."
UNKNOWN_ADDRESS = "Nobody here has this address. Sign up with it first, or ask who runs this service."
UNPROVEN = (
    "Sign in with your password first, and link yourself in the settings: either side has not confirmed your address."
)
LINKED_TO_ANOTHER = (
    "Somebody else signs in that way as the user with this address: addresses are given to other people."
    " If the user is you, sign in with your password first, and link yourself in the settings."
)
LINKED_ELSEWHERE = "This person signs in as another user already."


@dataclass(frozen=True, slots=True)
class BegunSignIn:
    """The address for the browser, and what it brings back."""

    address: str
    state: str = field(repr=False)


class FinishedSignIn(msgspec.Struct, frozen=True):
    """A session, or a step where a second factor is to come; None where a user has linked themselves."""

    opened: NewSession | NewStep | None
    next: str


class ProviderSignInService:
    """Signs people in by a provider. Without one every use raises `ProviderSignInFailed`."""

    def __init__(
        self,
        database: Database,
        plans: Plans,
        clock: Clock,
        notices: AccountNotices,
        provider: "ProviderClient | None",
        name: str,
    ) -> None:
        self._database = database
        self._plans = plans
        self._clock = clock
        self._notices = notices
        self._provider = provider
        self.name = name if provider is not None else ""
        """Display name of the provider; empty without one."""

    async def begin(self, next_address: str, caller: Caller | None = None) -> BegunSignIn:
        """Send a person to the provider: to sign in, or with a caller to link themselves. Raises
        `ProviderSignInFailed`.
        """
        provider, user_id = self._required(), None if caller is None else user_of(caller)
        state, nonce, verifier = (secrets.token_urlsafe(credentials.RANDOM_BYTES) for _ in range(3))
        address = await provider.address(state, nonce, verifier)
        async with self._database.transaction() as connection:
            request = StoredRequest(user_id, nonce, verifier, next_address)
            await provider_repository.add_request(connection, state, request, self._now())
        return BegunSignIn(address, state)

    async def finish(
        self, state: str, code: str, client: Client = UNKNOWN_CLIENT, caller: Caller | None = None
    ) -> FinishedSignIn:
        """Finish for a person who comes back with a state that this browser was given. Raises `ProviderSignInFailed`.

        `caller` is signed in there; a request to link must be theirs.
        """
        provider = self._required()
        async with self._database.transaction() as connection:
            request = await provider_repository.take_request(connection, state, self._now())
        if request is None or (request.user_id is not None and (caller is None or caller.user_id != request.user_id)):
            raise ProviderSignInFailed(TOO_LATE)
        person = await provider.person(code, request.nonce, request.verifier)
        if request.user_id is not None and caller is not None:
            await self._link(caller, person)
            return FinishedSignIn(None, request.next)
        return FinishedSignIn(await self._sign_in(person, client), request.next)

    async def links(self, caller: Caller) -> Sequence[ProviderLink]:
        """Persons linked to the caller."""
        if self._provider is None:
            return []
        async with self._database.reading() as connection:
            return await provider_repository.links_of(connection, user_of(caller), self._provider.issuer)

    async def unlink(self, caller: Caller) -> None:
        """Remove the caller's links to providers."""
        mails: Sequence[Mail] = ()
        async with self._database.transaction() as connection:
            await repository.locked(connection, caller)
            if await provider_repository.remove_links(connection, user_of(caller)):
                mails = await self._mails_about(connection, caller.account.id, caller.name, Action.SIGN_IN_UNLINKED, "")
        self._notices.send(mails)

    async def close(self) -> None:
        """Close the connections to the provider."""
        if self._provider is not None:
            await self._provider.aclose()

    async def _link(self, caller: Caller, person: ProviderPerson) -> None:
        try:
            async with self._database.transaction() as connection:
                await repository.locked(connection, caller)
                await provider_repository.add_link(connection, user_of(caller), person, self._now())
                mails = await self._mails_about(
                    connection, caller.account.id, caller.name, Action.SIGN_IN_LINKED, person.email
                )
        except IntegrityError:
            async with self._database.reading() as connection:
                if await provider_repository.linked_email(connection, person) == caller.name:
                    return
            raise ProviderSignInFailed(LINKED_ELSEWHERE) from None
        self._notices.send(mails)

    async def _sign_in(self, person: ProviderPerson, client: Client) -> NewSession | NewStep:
        mails: Sequence[Mail] = ()
        async with self._database.transaction() as connection:
            account_id = (await self._user(connection, person))[0].account_id
            account = await repository.lock_account(connection, account_id)
            user, is_linked = await self._user(
                connection, person
            )  # the link or the user may have been removed meanwhile
            if account is None or user.account_id != account_id:
                raise ProviderSignInFailed(UNKNOWN_ADDRESS)
            now = self._now()
            factors = await second_factor_repository.factors_of(connection, user.account_id, user.id)
            if factors.is_on and not person.used_second_factor:
                return await sign_in_steps.begin(connection, user.id, now, is_by_password=False)
            if not is_linked:
                await provider_repository.add_link(connection, user.id, person, now)
                mails = await self._mails_about(connection, account.id, user.email, Action.SIGN_IN_LINKED, person.email)
            await provider_repository.note_use(connection, person, now)
            how = f"by {self.name}"
            notice = await new_places.prepare_notice(connection, self._notices, user, client, now, how=how)
            mails = (*mails, *notice)
            opened = await sign_in(
                connection, account, user, client, now, how=how, plans=self._plans, is_proof=False
            )  # no proof: a provider may sign in the user of an open browser without asking
        self._notices.send(mails)
        return opened

    async def _user(self, connection: AsyncConnection, person: ProviderPerson) -> tuple[StoredUser, bool]:
        """The user of a person, and whether they are linked.

        Without a link both sides must have proven the address, and only one person is linked.
        """
        email = await provider_repository.linked_email(connection, person)
        user = None if email is None else await repository.user_by_email(connection, email)
        if user is not None:
            return user, True
        try:
            user = await repository.user_by_email(connection, email_address(person.email))
        except InvalidInput:
            raise ProviderSignInFailed(UNPROVEN) from None
        if not person.is_email_verified:
            raise ProviderSignInFailed(UNPROVEN)
        if user is None:
            raise ProviderSignInFailed(UNKNOWN_ADDRESS)
        if not user.is_confirmed:
            raise ProviderSignInFailed(UNPROVEN)
        if await provider_repository.links_of(connection, user.id, person.issuer):
            raise ProviderSignInFailed(LINKED_TO_ANOTHER)
        return user, False

    async def _mails_about(
        self, connection: AsyncConnection, account_id: int, email: str, action: Action, subject: str
    ) -> Sequence[Mail]:
        now = self._now()
        what = f"{self.name}{f': {subject}' if subject else ''}"
        await repository.note(connection, account_id, now, email, action, what)
        sentence = f"{email}: {action} ({what})"
        return await self._notices.prepare_for(connection, account_id, NoticeKind.SECOND_FACTORS, sentence, about=email)

    def _required(self) -> "ProviderClient":
        if self._provider is None:
            raise ProviderSignInFailed(NOT_SET_UP)
        return self._provider

    def _now(self) -> int:
        return int(self._clock.now())
