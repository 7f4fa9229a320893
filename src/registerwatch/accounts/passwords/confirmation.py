"""Proves an e-mail address by a mailed link, or ends its use by another person.

A sign-up, or an owner who adds a member, may name a stranger's address. Until a mailed link has been used, its real
user is unknown. The link shows what was made with the address so far. The reader of the mailbox either confirms it as
their own, by the password, or lets all of it end.
"""

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository
from registerwatch.accounts.audit.audit import Action
from registerwatch.accounts.deletion import DeletionService
from registerwatch.accounts.limits.mail_limits import MailLimit, take_slot
from registerwatch.accounts.limits.mail_tasks import MailTasks
from registerwatch.accounts.models import Caller, Role
from registerwatch.accounts.passwords import confirmation_repository
from registerwatch.accounts.passwords.confirmation_repository import EarlierAccess, LinkHolder
from registerwatch.accounts.passwords.passwords import Passwords, acceptable
from registerwatch.accounts.profile import zone_of_browser
from registerwatch.accounts.provider import provider_repository
from registerwatch.accounts.repository import StoredUser
from registerwatch.accounts.second_factors import passkey_repository, second_factor_repository
from registerwatch.accounts.sessions import known_clients
from registerwatch.accounts.validation import company_name
from registerwatch.errors import InvalidInput, LinkNotValid, SignupClosed, WrongPassword
from registerwatch.mail.mailer import Mail, Mailer
from registerwatch.mail.texts import confirmation
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database

TOKEN_SECONDS = 7 * 24 * 3600
MAX_TOKEN_LENGTH = 500
"""A token names an address, of 254 characters at most."""

BAD_TOKEN = "This link is not valid: it was used already, is too old, or was cut off."  # noqa: S105
IS_CONFIRMED = "This address needs no link: it is confirmed, or this service sends no mail."
NO_MORE_LINKS = "No more links are sent to this address today. Look for the mails of today, also among unwanted ones."
WRONG_PASSWORD = "This is not the password of this address."  # noqa: S105
NOT_OPEN = "Nobody can open an account here by themselves: ask who runs this service."
MEMBER_ALONE = "This address owns its account: take the account over, or delete it."
OWNER_ALONE = "This address is a member of its account: leave it, and open one of your own."
PROVEN = "The address is proven already. A link to set a password does that on its own page: open it as it was mailed."


class ConfirmationService:
    """Mails links that prove an address, and carries out their users' decisions."""

    def __init__(
        self,
        database: Database,
        passwords: Passwords,
        clock: Clock,
        mailer: Mailer,
        deletion: DeletionService,
        *,
        public_url: str,
        trial_seconds: int,
        anybody_may_sign_up: bool,
    ) -> None:
        self._database = database
        self._passwords = passwords
        self._clock = clock
        self._mailer = mailer
        self._deletion = deletion
        self._public_url = public_url
        self._trial_seconds = trial_seconds
        self.anybody_may_sign_up = anybody_may_sign_up
        self.mails = MailTasks("confirmation")

    @property
    def can_mail(self) -> bool:
        """Whether a mail server is set; without one no address is ever proven by mail."""
        return self._mailer.is_set_up

    async def prepare(self, connection: AsyncConnection, account_id: int, email: str) -> Mail | None:
        """The mail to a user with an unproven address, with a new link; None where none may be sent.

        Pass it to `send` when the transaction has ended.
        """
        if not self._mailer.is_set_up:
            return None
        now, account = self._now(), str(account_id)
        limits = [(MailLimit.FIRST_CONTACT_BY_ACCOUNT, account), (MailLimit.FIRST_CONTACT, email)]
        if await _is_of_a_stranger(connection, account_id, email):
            limits.insert(0, (MailLimit.FIRST_CONTACT_BY_UNPROVEN, account))
        for limit, whom in limits:
            if not await take_slot(connection, now, limit, whom):
                return None
        token = confirmation_repository.new_token(email)
        await confirmation_repository.add_token(connection, email, token, now=now, expires_at=now + TOKEN_SECONDS)
        link = f"{self._public_url}/account/confirm?token={token}"
        return confirmation(email, link, self._public_url, TOKEN_SECONDS // 86_400)

    def send(self, mail: Mail | None) -> None:
        """Send a prepared mail after the request was answered. Errors are logged."""
        if mail is not None:
            self.mails.start(lambda: self._mailer.send(mail))

    async def send_again(self, user: StoredUser) -> None:
        """Mail one more link to a user with an unproven address."""
        if user.is_confirmed or not self._mailer.is_set_up:
            return
        async with self._database.transaction() as connection:
            mail = await self.prepare(connection, user.account_id, user.email)
        self.send(mail)

    async def is_open(self, caller: Caller) -> bool:
        """Whether the caller's address is to be proven by a mailed link, and is not."""
        return (await self._unproven(caller)) is not None

    async def mail_again(self, caller: Caller) -> None:
        """Mail one more link to the caller. Raises `InvalidInput` where none is needed or no more may be sent."""
        user = await self._unproven(caller)
        if user is None:
            raise InvalidInput(IS_CONFIRMED)
        async with self._database.transaction() as connection:
            mail = await self.prepare(connection, user.account_id, user.email)
        if mail is None:
            raise InvalidInput(NO_MORE_LINKS)
        self.send(mail)

    async def _unproven(self, caller: Caller) -> StoredUser | None:
        if not self._mailer.is_set_up or caller.user_id is None:
            return None
        async with self._database.reading() as connection:
            user = await repository.user(connection, caller.account.id, caller.user_id)
        return user if user is not None and not user.is_confirmed else None

    async def look(self, token: str) -> tuple[LinkHolder, EarlierAccess]:
        """The addressee of a link, and what was made in their account so far. Raises `LinkNotValid`."""
        async with self._database.reading() as connection:
            holder = await self._holder(connection, token)
            return holder, await confirmation_repository.earlier_access(connection, holder, self._now())

    async def keep(self, token: str, password: str) -> None:
        """Prove an owner's address, and keep what was made: the person with the password made it.

        Raises `LinkNotValid`, `WrongPassword`, `InvalidInput` for a member, whose password another person chose, and
        for a proven address.
        """
        async with self._database.reading() as connection:
            holder = await self._holder(connection, token)
            require_unproven_owner(holder)
            user = await repository.user(connection, holder.account_id, holder.user_id)
        stored = user.password_hash if user is not None else None
        if not await self._passwords.is_right(password, stored):
            raise WrongPassword(WRONG_PASSWORD)
        async with self._database.transaction() as connection:
            holder = await self._locked(connection, token)
            present = await repository.user(connection, holder.account_id, holder.user_id)
            if present is None or present.password_hash != stored:
                raise WrongPassword(WRONG_PASSWORD)  # it was changed during the comparison
            await confirmation_repository.confirm(connection, holder.account_id, holder.user_id, self._now())
            await self._note(connection, holder, Action.ADDRESS_CONFIRMED)

    async def join(self, token: str, password: str) -> None:
        """Prove a member's address, and replace the password that another person chose.

        Raises `LinkNotValid`, `InvalidInput` for a password that cannot be set, for an owner and for a proven address.
        """
        password_hash = await self._hashed(token, password)
        async with self._database.transaction() as connection:
            holder = await self._locked(connection, token)
            if holder.role is Role.OWNER:
                raise InvalidInput(MEMBER_ALONE)
            if holder.is_confirmed:
                raise InvalidInput(PROVEN)
            account_id, user_id = holder.account_id, holder.user_id
            await repository.set_password(connection, account_id, user_id, password_hash)
            await repository.note_password_setter(connection, account_id, user_id, unproven_at=None)
            await repository.end_other_sessions(connection, user_id, None)
            await known_clients.forget_all_of(connection, user_id)
            await forget_factors_of_others(connection, holder)
            await confirmation_repository.confirm(connection, account_id, user_id, self._now())
            await self._note(connection, holder, Action.ADDRESS_CONFIRMED)

    async def take_over(self, token: str, password: str) -> None:
        """Prove an owner's address, end all that was made before, and set a password.

        Raises `LinkNotValid`, `InvalidInput` for a password that cannot be set, for a member and for a proven address.
        """
        password_hash = await self._hashed(token, password)
        async with self._database.transaction() as connection:
            holder = await self._locked(connection, token)
            require_unproven_owner(holder)
            await take_account_over(connection, holder, password_hash, self._now())

    async def delete(self, token: str) -> None:
        """Delete the account of an owner's address. Raises `LinkNotValid`, `InvalidInput` for a member and for a proven
        address.
        """

        async def is_allowed(connection: AsyncConnection) -> bool:
            require_unproven_owner(await self._holder(connection, token))
            return True

        async with self._database.reading() as connection:
            holder = await self._holder(connection, token)
        await self._deletion.delete_where(holder.account_id, is_allowed)
        async with self._database.transaction() as connection:
            await confirmation_repository.forget_links(connection, holder.email)

    async def leave(self, token: str) -> None:
        """Remove a member's address from its account. Raises `LinkNotValid`, `InvalidInput` for an owner."""
        async with self._database.transaction() as connection:
            await self._leave(connection, token)

    async def leave_and_open(self, token: str, password: str, *, zone: str = "") -> None:
        """Remove a member from the account, and open a trial for their address, which is proven. `zone` is the time
        zone of the browser.

        Raises `LinkNotValid`, `SignupClosed`, `InvalidInput` for an owner and for a password that cannot be set.
        """
        if not self.anybody_may_sign_up:
            raise SignupClosed(NOT_OPEN)
        password_hash = await self._hashed(token, password)
        now = self._now()
        async with self._database.transaction() as connection:
            email = (await self._leave(connection, token)).email
            stored, user_id = await repository.open_trial(
                connection,
                email=email,
                name=company_name("", email),
                password_hash=password_hash,
                time_zone=zone_of_browser(zone),
                expires_at=now + self._trial_seconds,
                now=now,
            )
            await confirmation_repository.confirm(connection, stored.id, user_id, now)

    async def _leave(self, connection: AsyncConnection, token: str) -> LinkHolder:
        holder = await self._locked(connection, token)
        if holder.role is Role.OWNER:
            raise InvalidInput(MEMBER_ALONE)
        await repository.remove_user(connection, holder.account_id, holder.user_id)
        await confirmation_repository.forget_links(connection, holder.email)
        await self._note(connection, holder, Action.USER_LEFT)
        return holder

    async def _hashed(self, token: str, password: str) -> str:
        async with self._database.reading() as connection:
            await self._holder(connection, token)  # before hashing: a guessed token must cost little
        return await self._passwords.hashed(acceptable(password))

    async def _locked(self, connection: AsyncConnection, token: str) -> LinkHolder:
        """The holder, whose account is locked; another request may have used the token meanwhile."""
        holder = await self._holder(connection, token)
        await repository.lock_account(connection, holder.account_id)
        return await self._holder(connection, token)

    async def _holder(self, connection: AsyncConnection, token: str) -> LinkHolder:
        holder = await confirmation_repository.link_holder(connection, token[:MAX_TOKEN_LENGTH], self._now())
        if holder is None:
            raise LinkNotValid(BAD_TOKEN)
        return holder

    async def _note(self, connection: AsyncConnection, holder: LinkHolder, action: Action) -> None:
        await repository.note(connection, holder.account_id, self._now(), holder.email, action)

    def _now(self) -> int:
        return int(self._clock.now())


def require_unproven_owner(holder: LinkHolder) -> None:
    """Raise `InvalidInput` for a member and for a proven address: a reader of its mailbox, who may lack the second
    factor, deletes no account by a link that sets a password, nor takes it over without the notice of a new one.
    """
    if holder.role is not Role.OWNER:
        raise InvalidInput(OWNER_ALONE)
    if holder.is_confirmed:
        raise InvalidInput(PROVEN)


async def take_account_over(connection: AsyncConnection, holder: LinkHolder, password_hash: str, now: int) -> None:
    """End all access to an account that the caller has locked, set its owner's password, note that it is proven."""
    account_id, user_id = holder.account_id, holder.user_id
    has_ended = await confirmation_repository.end_earlier_access(connection, account_id, user_id, now)
    has_ended |= await end_own_ways_in(connection, holder, now)
    await forget_factors_of_others(connection, holder)
    await confirmation_repository.confirm(connection, account_id, user_id, now)
    await repository.set_password(connection, account_id, user_id, password_hash)
    await repository.note_password_setter(connection, account_id, user_id, unproven_at=None)
    if has_ended:
        await repository.note(connection, account_id, now, holder.email, Action.EARLIER_ACCESS_ENDED)


async def end_keys_and_sessions(connection: AsyncConnection, holder: LinkHolder, now: int) -> None:
    """End the keys and sessions of an account that the caller has locked, and its owner's other access."""
    account_id, user_id = holder.account_id, holder.user_id
    ended = await confirmation_repository.end_keys_and_sessions(connection, account_id, user_id, now)
    if await end_own_ways_in(connection, holder, now) or ended:
        action = Action.EARLIER_ACCESS_ENDED
        subject = "API keys and sessions"
        await repository.note(connection, account_id, now, holder.email, action, subject)


async def end_own_ways_in(connection: AsyncConnection, holder: LinkHolder, now: int) -> bool:
    """End a holder's links to a provider and their passkeys; returns whether there were any.

    Passkeys are a second factor too, which the reader of the mailbox must not be able to remove. So they end only where
    an authenticator app or recovery codes remain as a second factor.
    """
    links = await provider_repository.forget(connection, holder.user_id)
    factors = await second_factor_repository.factors_of(connection, holder.account_id, holder.user_id)
    if not (factors.passkeys and factors.can_lose_passkeys):
        return links > 0
    await passkey_repository.remove_all(connection, holder.user_id)
    action, subject = Action.SECOND_FACTOR_REMOVED, f"passkeys of {holder.email}"
    await repository.note(connection, holder.account_id, now, holder.email, action, subject)
    return True


async def forget_factors_of_others(connection: AsyncConnection, holder: LinkHolder) -> None:
    """Remove second factors and links to a provider from before the address was proven.

    Those of a proven address stay, whatever a mail says: else a reader of the mailbox would need no second factor.
    """
    if not holder.is_confirmed:
        await second_factor_repository.remove_all(connection, holder.user_id)
        await provider_repository.forget(connection, holder.user_id)


async def _is_of_a_stranger(connection: AsyncConnection, account_id: int, email: str) -> bool:
    """Whether the address is not an owner's, in an account without an owner with a proven address."""
    owners = await repository.owners(connection, account_id)
    return not any(owner.is_confirmed or owner.email == email for owner in owners)
