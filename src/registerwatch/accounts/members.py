"""An account's profile, its users, and its audit trail."""

from collections.abc import Sequence

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository
from registerwatch.accounts.audit import audit, audit_trail
from registerwatch.accounts.audit.audit import Action, AuditEntry
from registerwatch.accounts.audit.audit_trail import EVERY_LINE
from registerwatch.accounts.models import Caller, Profile, Role, User
from registerwatch.accounts.notices import AccountNotices, NoticeKind, no_notices
from registerwatch.accounts.passwords import confirmation_repository
from registerwatch.accounts.passwords.confirmation import ConfirmationService
from registerwatch.accounts.passwords.passwords import Passwords
from registerwatch.accounts.plans import Plans, keep_cap
from registerwatch.accounts.queries import AccountQueries, account_of, locked_account, profile_of
from registerwatch.accounts.repository import StoredUser
from registerwatch.accounts.sessions import credentials
from registerwatch.accounts.validation import email_address
from registerwatch.errors import InvalidInput, SignupClosed, Unauthenticated
from registerwatch.mail.mailer import Mail
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.row_pages import RowPage

EMAIL_TAKEN = "A user with this e-mail address exists already."
USERS_CLOSED = "Nobody can be added here: only who runs this service says who gets in. Ask them."
NO_USER = "The account has no user with this id."
LAST_OWNER = "The last owner of an account cannot be removed. To end the account, delete it."
NO_OWNER_LEFT = "The last owner of an account stays one. Make somebody else an owner first."
NOT_CONFIRMED = (
    "This user has not confirmed their e-mail address. Only who has can be an owner: an owner can take over the whole"
    " account."
)

_WITH_ARTICLE = {Role.OWNER: "an owner", Role.MEMBER: "a member"}


class MemberService:
    """Reads the account and changes its users. The surface checks whether the caller may."""

    def __init__(
        self,
        database: Database,
        passwords: Passwords,
        plans: Plans,
        clock: Clock,
        *,
        owners_may_add_users: bool = True,
        confirmations: ConfirmationService | None = None,
        notices: AccountNotices | None = None,
    ) -> None:
        self._database = database
        self._queries = AccountQueries(database)
        self._passwords = passwords
        self._plans = plans
        self._clock = clock
        self._owners_may_add_users = owners_may_add_users
        self._confirmations = confirmations
        self._notices = notices or no_notices(clock)

    async def profile(self, caller: Caller) -> Profile:
        """The account as the caller sees it."""
        account = caller.account
        users, keys = await self._queries.users(account.id), await self._queries.keys(account.id)
        return Profile(account, caller.role, users, keys, caller.scope)

    async def users(self, caller: Caller) -> Sequence[User]:
        """The users of the account."""
        return await self._queries.users(caller.account.id)

    async def renewed(self, caller: Caller) -> Profile:
        """The account as it is now, not as it was when the request was authenticated. Raises `Unauthenticated`."""
        async with self._database.reading() as connection:
            stored = await repository.account(connection, caller.account.id)
            if stored is None:
                raise Unauthenticated(credentials.UNKNOWN_CREDENTIAL)
            return await profile_of(connection, account_of(stored, self._plans), caller.role)

    async def trail(self, caller: Caller) -> Sequence[AuditEntry]:
        """The newest 100 lines of the audit trail, newest first."""
        async with self._database.reading() as connection:
            return await audit_trail.preceding(connection, caller.account.id, EVERY_LINE, None, audit.NEWEST)

    async def trail_page(
        self, caller: Caller, *, after: int | None = None, before: int | None = None, limit: int
    ) -> RowPage[AuditEntry]:
        """Lines of the audit trail: after a given one, oldest first, or else the newest ones or those before one,
        newest first.
        """
        async with self._database.reading() as connection:
            if after is None:
                found = await audit_trail.preceding(connection, caller.account.id, EVERY_LINE, before, limit + 1)
            else:
                found = await audit_trail.following(connection, caller.account.id, EVERY_LINE, after, limit + 1)
            return RowPage.cut(found, limit)

    async def add_user(self, caller: Caller, email: str, password: str) -> Profile:
        """Add a member, who is mailed a link that proves the address or releases it.

        Raises `InvalidInput` (bad or taken address, short password), `CapReached`, `KeyHasEnd`, or `SignupClosed` where
        owners may not add users.
        """
        caller.require_no_end()
        if not self._owners_may_add_users:
            raise SignupClosed(USERS_CLOSED)
        address = email_address(email)
        chosen = await self._passwords.allowed(password, address)
        password_hash = await self._passwords.hashed(chosen, account_id=caller.account.id)
        try:
            async with self._database.transaction() as connection:
                account = await locked_account(connection, caller, self._plans)
                keep_cap(len(await repository.users_of(connection, account.id)), account.plan.users, "users")
                await repository.add_user(
                    connection,
                    account.id,
                    email=address,
                    role=Role.MEMBER,
                    password_hash=password_hash,
                    now=int(self._clock.now()),
                )
                await self._note(connection, caller, Action.USER_ADDED, address)
                mail = None
                if self._confirmations is not None:
                    mail = await self._confirmations.prepare(connection, account.id, address)
                notices = await self._notices.prepare(
                    connection, caller, NoticeKind.USERS, f"added the member {address}"
                )
                profile = await profile_of(connection, account, caller.role)
        except IntegrityError:
            raise InvalidInput(EMAIL_TAKEN) from None
        if self._confirmations is not None:
            self._confirmations.send(mail)
        self._notices.send(notices)
        return profile

    async def remove_user(self, caller: Caller, user_id: int) -> Profile:
        """Remove a user of the account. Raises `InvalidInput` for the last owner and for an unknown id."""
        async with self._database.transaction() as connection:
            account = await locked_account(connection, caller, self._plans)
            user = await repository.user(connection, account.id, user_id)
            if user is None:
                raise InvalidInput(NO_USER)
            if user.role is Role.OWNER and len(await repository.owners(connection, account.id)) == 1:
                raise InvalidInput(LAST_OWNER)
            notices = await self._notices.prepare(
                connection, caller, NoticeKind.USERS, f"removed the user {user.email}", about=user.email
            )  # before it is done: who is removed is told, too
            await repository.remove_user(connection, account.id, user_id)
            await confirmation_repository.withdraw_invitations_by(connection, account.id, user.email)
            await self._note(connection, caller, Action.USER_REMOVED, user.email)
            profile = await profile_of(connection, account, caller.role)
        self._notices.send(notices)
        return profile

    async def set_role(self, caller: Caller, user_id: int, role: Role) -> Profile:
        """Make a user of the account an owner or a member, from their next request on.

        Raises `InvalidInput` for an unknown id, where no owner would be left, and for a new owner without a proven
        address where mail can prove it.
        """
        async with self._database.transaction() as connection:
            account = await locked_account(connection, caller, self._plans)
            user = await repository.user(connection, account.id, user_id)
            if user is None:
                raise InvalidInput(NO_USER)
            notices: Sequence[Mail] = ()
            if user.role is not role:
                await self._require_change(connection, account.id, user, role)
                notices = await self._changed_role(connection, caller, user, role)
            profile = await profile_of(connection, account, caller.role)
        self._notices.send(notices)
        return profile

    async def _require_change(self, connection: AsyncConnection, account_id: int, user: StoredUser, role: Role) -> None:
        """Raise `InvalidInput` where a user cannot have another role."""
        if role is Role.MEMBER and len(await repository.owners(connection, account_id)) == 1:
            raise InvalidInput(NO_OWNER_LEFT)
        can_mail = self._confirmations is not None and self._confirmations.can_mail
        if role is Role.OWNER and can_mail and not user.is_confirmed:
            raise InvalidInput(NOT_CONFIRMED)

    async def _changed_role(
        self, connection: AsyncConnection, caller: Caller, user: StoredUser, role: Role
    ) -> Sequence[Mail]:
        """Store a role; returns the mails about it, to the previous owners and the user."""
        before = await self._notices.prepare(
            connection, caller, NoticeKind.USERS, f"made {user.email} {_WITH_ARTICLE[role]}", about=user.email
        )
        await repository.set_role(connection, user.account_id, user.id, role)
        if role is Role.MEMBER:
            await confirmation_repository.withdraw_invitations_by(connection, user.account_id, user.email)
        await self._note(connection, caller, Action.ROLE_CHANGED, f"{user.email}: {role}")
        return before

    async def _note(self, connection: AsyncConnection, caller: Caller, action: Action, subject: str) -> None:
        await repository.note_by(connection, caller, int(self._clock.now()), action, subject)
