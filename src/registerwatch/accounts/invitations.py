"""Invites members by a mailed link: they set their own password, and the link proves their address."""

from collections.abc import Sequence

from sqlalchemy.exc import IntegrityError

from registerwatch.accounts import repository
from registerwatch.accounts.audit.audit import Action
from registerwatch.accounts.limits.mail_limits import MailLimit, take_slot
from registerwatch.accounts.limits.mail_tasks import MailTasks
from registerwatch.accounts.members import USERS_CLOSED
from registerwatch.accounts.models import Caller, Role
from registerwatch.accounts.notices import AccountNotices, NoticeKind, no_notices
from registerwatch.accounts.passwords import confirmation_repository
from registerwatch.accounts.passwords.confirmation_repository import Invitation, OpenInvitation
from registerwatch.accounts.passwords.passwords import Passwords, acceptable
from registerwatch.accounts.plans import Plans, keep_cap
from registerwatch.accounts.profile import zone_of_browser
from registerwatch.accounts.queries import account_of, locked_account
from registerwatch.accounts.sessions import credentials
from registerwatch.accounts.validation import email_address
from registerwatch.errors import InvalidInput, LinkNotValid, MailNotSent, SignupClosed
from registerwatch.mail.mailer import Mailer
from registerwatch.mail.texts import invitation
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database

TOKEN_SECONDS = 7 * 24 * 3600
MAX_TOKEN_LENGTH = 200

BAD_TOKEN = "This invitation is not valid: it was accepted already, is older than a week, or was cut off."  # noqa: S105
NO_MAIL = "This service sends no mail, so it cannot invite anybody. Add a member with a password instead."
NOT_PROVEN = "Confirm your own e-mail address first, by the link that was mailed to you: then you can invite others."
TOO_MANY = "So many mails went to this address, or were caused by this account, that no more is sent today."
NOT_INVITED = "This address has no open invitation: it was accepted, withdrawn, or is older than a week."
HAS_ACCOUNT = (
    "This address belongs to an account already. If that is not yours, take the address back: ask for a link to set a"
    " password, which leads there. Then open this invitation again."
)


class InvitationService:
    """Invites and adds members. The surface checks whether the caller may."""

    def __init__(
        self,
        database: Database,
        passwords: Passwords,
        plans: Plans,
        clock: Clock,
        mailer: Mailer,
        *,
        public_url: str,
        owners_may_add_users: bool,
        notices: AccountNotices | None = None,
    ) -> None:
        self._database = database
        self._passwords = passwords
        self._plans = plans
        self._clock = clock
        self._mailer = mailer
        self._public_url = public_url
        self._owners_may_add_users = owners_may_add_users
        self._notices = notices or no_notices(clock)
        self.mails = MailTasks("invitation")

    @property
    def can_mail(self) -> bool:
        """Whether a mail server is set; without one no invitation can be sent."""
        return self._mailer.is_set_up

    async def invite(self, caller: Caller, email: str) -> None:
        """Mail an invitation. Its answer does not reveal whether the address belongs to a user.

        Only an owner with a proven address may invite: the mail names it. Raises `InvalidInput`, `CapReached`,
        `MailNotSent` where no mail is set up, `SignupClosed` where owners may not add users.
        """
        if not self._owners_may_add_users:
            raise SignupClosed(USERS_CLOSED)
        if not self._mailer.is_set_up:
            raise MailNotSent(NO_MAIL)
        address, now, token = email_address(email), int(self._clock.now()), credentials.new_token()
        async with self._database.transaction() as connection:
            account = await locked_account(connection, caller, self._plans)
            owner = await repository.user(connection, account.id, caller.user_id or 0)
            if owner is None or not owner.is_confirmed:
                raise InvalidInput(NOT_PROVEN)
            invited = {*await confirmation_repository.open_invitations(connection, account.id, now)} - {address}
            users = await repository.users_of(connection, account.id)
            keep_cap(len(users) + len(invited), account.plan.users, "users and open invitations")
            for limit, whom in (
                (MailLimit.FIRST_CONTACT_BY_ACCOUNT, str(account.id)),
                (MailLimit.FIRST_CONTACT, address),
            ):
                if not await take_slot(connection, now, limit, whom):
                    raise InvalidInput(TOO_MANY)
            await confirmation_repository.add_invitation(
                connection,
                account.id,
                email=address,
                digest=credentials.digest_of(token),
                invited_by=owner.email,
                now=now,
                expires_at=now + TOKEN_SECONDS,
            )
            await repository.note_by(connection, caller, now, Action.USER_INVITED, address)
        link = f"{self._public_url}/account/invitation?token={token}"
        mail = invitation(address, link, self._public_url, owner.email, account.name, TOKEN_SECONDS // 86_400)
        self.mails.start(lambda: self._mailer.send(mail))

    async def open(self, caller: Caller) -> Sequence[OpenInvitation]:
        """The account's invitations that can be accepted, the oldest first."""
        async with self._database.reading() as connection:
            now = int(self._clock.now())
            return await confirmation_repository.invitations_of(connection, caller.account.id, now)

    async def withdraw(self, caller: Caller, email: str) -> None:
        """Make the invitation of an address invalid. Raises `InvalidInput` where there is none."""
        address = email_address(email)
        async with self._database.transaction() as connection:
            account = await locked_account(connection, caller, self._plans)
            if not await confirmation_repository.withdraw_invitation(connection, account.id, address):
                raise InvalidInput(NOT_INVITED)
            now = int(self._clock.now())
            await repository.note_by(connection, caller, now, Action.INVITATION_WITHDRAWN, address)

    async def look(self, token: str) -> Invitation:
        """The invitation of a link. Raises `LinkNotValid`."""
        async with self._database.reading() as connection:
            found = await confirmation_repository.invitation(connection, _digest(token), int(self._clock.now()))
        if found is None:
            raise LinkNotValid(BAD_TOKEN)
        return found

    async def accept(self, token: str, password: str, *, zone: str = "") -> None:
        """Add the invited address as a member with this password; the link has proven it. `zone` is the time zone that
        the browser names.

        Raises `LinkNotValid`, `CapReached`, `InvalidInput` for a password that cannot be set, or where the address
        belongs to an account.
        """
        asked = await self.look(token)  # before hashing: a guessed token must cost little
        password_hash, now = await self._passwords.hashed(acceptable(password)), int(self._clock.now())
        try:
            async with self._database.transaction() as connection:
                stored = await repository.lock_account(connection, asked.account_id)
                found = await confirmation_repository.invitation(connection, asked.digest, now)
                if stored is None or found is None:
                    raise LinkNotValid(BAD_TOKEN)
                account = account_of(stored, self._plans)
                keep_cap(len(await repository.users_of(connection, account.id)), account.plan.users, "users")
                user_id = await repository.add_user(
                    connection,
                    account.id,
                    email=found.email,
                    role=Role.MEMBER,
                    password_hash=password_hash,
                    now=now,
                    time_zone=zone_of_browser(zone),
                )
                await confirmation_repository.confirm(connection, account.id, user_id, now)
                await confirmation_repository.remove_invitation(connection, account.id, asked.digest)
                await repository.note(connection, account.id, now, found.email, Action.INVITATION_ACCEPTED)
                sentence = f"{found.email} joined the account, invited by {found.invited_by}"
                notices = await self._notices.prepare_for(connection, account.id, NoticeKind.USERS, sentence)
        except IntegrityError:
            raise InvalidInput(HAS_ACCOUNT) from None
        self._notices.send(notices)


def _digest(token: str) -> str:
    return credentials.digest_of(token[:MAX_TOKEN_LENGTH])
