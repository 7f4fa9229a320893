"""Setting passwords: what a link opens and for how long, what a new password ends, what nobody is told."""

import asyncio
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection
from structlog.testing import capture_logs

from registerwatch.accounts import repository
from registerwatch.accounts.limits.mail_tasks import MAX_SENDING
from registerwatch.accounts.models import NewSession
from registerwatch.accounts.passwords.password_reset import LINKS_PER_HOUR, MAX_TOKEN_LENGTH
from registerwatch.accounts.plans import PlanName
from registerwatch.accounts.sessions.credentials import digest_of
from registerwatch.accounts.use_cases import Accounts, build_accounts
from registerwatch.errors import InvalidInput, MailNotSent, NoSuchAccount, Unauthenticated, WrongPassword
from registerwatch.mail.mailer import BeforeData, Mail, Mailer, NoMailer
from registerwatch.mail.memory_mailer import MemoryMailer
from registerwatch.mail.smtp import Failure
from registerwatch.platform.db.engine import Database
from registerwatch.settings import Settings
from tests.accounts.actions import EMAIL, PASSWORD, by_key, by_session, owner_of, prove_address, signed_up
from tests.support.fakes import SteppedClock, quick_passwords

HOUR = 3600
MEMBER = "member@acme.example"
STRANGER = "owner@other.example"
UNAUTHENTICATED = "nobody@acme.example"
NEW = "a new password"
WAIT_SECONDS = 10.0


class HangingMail:
    """A mail server that takes its time."""

    is_set_up = True

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.ended = asyncio.Event()

    async def send(self, mail: Mail) -> None:
        """Never end by itself."""
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()

    async def send_once(self, mail: Mail, before_data: BeforeData) -> Failure | None:
        """Never end by itself."""
        await self.send(mail)
        return None


class RefusingMail:
    """A mail server that takes nothing."""

    is_set_up = True

    async def send(self, mail: Mail) -> None:
        """Raise `MailNotSent`."""
        raise MailNotSent("The mail server said 550.")

    async def send_once(self, mail: Mail, before_data: BeforeData) -> Failure | None:
        """Fail."""
        return Failure("The mail server said 550.")


@pytest.fixture
def hanging() -> HangingMail:
    return HangingMail()


@pytest.fixture(params=["none", "refusing", "hanging"])
def mailless(
    request: pytest.FixtureRequest, database: Database, clock: SteppedClock, hanging: HangingMail, tmp_path: Path
) -> Iterator[Accounts]:
    """The use cases where no mail arrives, for one reason or another."""
    mailers: dict[str, Mailer] = {"none": NoMailer(), "refusing": RefusingMail(), "hanging": hanging}
    built = build_accounts(Settings(data_dir=tmp_path), database, clock, mailers[str(request.param)], quick_passwords())
    yield built
    built.passwords.close()


async def _two_who_are_in(accounts: Accounts) -> tuple[NewSession, NewSession, NewSession]:
    """An owner with two sessions, a member with one."""
    first = await signed_up(accounts)
    await prove_address(accounts)
    await accounts.members.add_user(await by_session(accounts, first.session), MEMBER, PASSWORD)
    return first, await signed_up(accounts), await accounts.sessions.login(MEMBER, PASSWORD)


def _token(link: str) -> str:
    return link.rpartition("=")[2]


async def _is_in(accounts: Accounts, session: str) -> bool:
    try:
        return (await by_session(accounts, session)).user_id is not None
    except Unauthenticated:
        return False


async def _rows(database: Database, table: str) -> int:
    async with database.reading() as connection:
        return int((await connection.execute(text(f"SELECT count(*) FROM {table}"))).scalar_one())


async def test_a_link_leads_to_the_service_and_says_nothing_but_a_token(accounts: Accounts, database: Database) -> None:
    await signed_up(accounts)
    link = await accounts.password_reset.link(f" {EMAIL.upper()} ")

    assert re.fullmatch(r"http://localhost:8000/password/reset\?token=[A-Za-z0-9_-]{43}", link)
    async with database.reading() as connection:
        assert (await connection.execute(text("SELECT digest FROM reset_tokens"))).scalar_one() == digest_of(
            _token(link)
        )


async def test_a_link_sets_a_password_once(accounts: Accounts) -> None:
    await signed_up(accounts)
    token = _token(await accounts.password_reset.link(EMAIL))

    await accounts.password_reset.reset(token, NEW)

    with pytest.raises(InvalidInput, match="used already"):
        await accounts.password_reset.reset(token, "a third password")
    assert (await accounts.sessions.login(EMAIL, NEW)).existing
    with pytest.raises(WrongPassword):
        await accounts.sessions.login(EMAIL, PASSWORD)


async def test_a_link_works_for_an_hour_to_the_second(accounts: Accounts, clock: SteppedClock) -> None:
    await signed_up(accounts)
    early = _token(await accounts.password_reset.link(EMAIL))

    clock.move(HOUR - 1)
    await accounts.password_reset.reset(early, NEW)
    late = _token(await accounts.password_reset.link(EMAIL))
    clock.move(HOUR)
    with pytest.raises(InvalidInput, match="older than an hour"):
        await accounts.password_reset.reset(late, "a third password")
    await accounts.sessions.login(EMAIL, NEW)


async def test_a_reset_ends_the_users_sessions_and_other_links_and_nobody_elses(accounts: Accounts) -> None:
    first, second, member = await _two_who_are_in(accounts)
    strange = await signed_up(accounts, STRANGER)
    used, other = [_token(await accounts.password_reset.link(EMAIL)) for _ in range(2)]
    members, strangers = [_token(await accounts.password_reset.link(each)) for each in (MEMBER, STRANGER)]

    await accounts.password_reset.reset(used, NEW)

    assert not await _is_in(accounts, first.session)
    assert not await _is_in(accounts, second.session)
    with pytest.raises(InvalidInput):
        await accounts.password_reset.reset(other, "a third password")
    assert await _is_in(accounts, member.session)
    assert await _is_in(accounts, strange.session)
    await by_key(accounts, first.api_key)
    await accounts.password_reset.reset(members, "a member's own")
    await accounts.password_reset.reset(strangers, "a stranger's own")


async def test_a_password_set_by_a_session_keeps_that_session_and_ends_the_users_other_ways_in(
    accounts: Accounts,
) -> None:
    first, second, member = await _two_who_are_in(accounts)
    token, members = [_token(await accounts.password_reset.link(each)) for each in (EMAIL, MEMBER)]

    profile = await accounts.password_reset.change(await by_session(accounts, second.session), NEW)

    assert [user.email for user in profile.users] == [EMAIL, MEMBER]
    assert await _is_in(accounts, second.session)
    assert not await _is_in(accounts, first.session)
    assert await _is_in(accounts, member.session)
    await by_key(accounts, first.api_key)
    await accounts.password_reset.reset(members, "a member's own")
    assert await _passwords_that_work(accounts, EMAIL) == {NEW}
    await accounts.password_reset.change(await by_session(accounts, second.session), PASSWORD, is_proved=True)
    with pytest.raises(InvalidInput):
        await accounts.password_reset.reset(token, "a third password")


async def test_a_member_sets_their_own_password(accounts: Accounts) -> None:
    first, _second, member = await _two_who_are_in(accounts)

    await accounts.password_reset.change(await by_session(accounts, member.session), NEW)

    assert await _passwords_that_work(accounts, MEMBER) == {NEW}
    assert await _passwords_that_work(accounts, EMAIL) == {PASSWORD}
    assert await _is_in(accounts, first.session)


async def test_a_password_set_by_a_key_is_the_first_owners_and_ends_their_sessions(
    accounts: Accounts, database: Database
) -> None:
    first, second, member = await _two_who_are_in(accounts)
    async with database.transaction() as connection:
        await connection.execute(text("UPDATE users SET role = 'owner'"))
    token = _token(await accounts.password_reset.link(EMAIL))

    await accounts.password_reset.change(await by_key(accounts, first.api_key), NEW)

    assert await _passwords_that_work(accounts, EMAIL) == {NEW}
    assert await _passwords_that_work(accounts, MEMBER) == {PASSWORD}
    assert not await _is_in(accounts, first.session)
    assert not await _is_in(accounts, second.session)
    assert await _is_in(accounts, member.session)
    await by_key(accounts, first.api_key)
    await accounts.password_reset.reset(token, PASSWORD)
    assert await _passwords_that_work(accounts, EMAIL) == {PASSWORD}, "a stolen key ends no mailed link"


async def test_whoever_was_removed_a_moment_ago_sets_nobodys_password(accounts: Accounts) -> None:
    first, _second, member = await _two_who_are_in(accounts)
    caller = await by_session(accounts, member.session)
    await accounts.members.remove_user(await by_session(accounts, first.session), caller.user_id or 0)

    with pytest.raises(Unauthenticated):
        await accounts.password_reset.change(caller, NEW)
    assert await _passwords_that_work(accounts, EMAIL) == {PASSWORD}


@pytest.mark.parametrize("password", ["", "1234567", "x" * 1_025])
async def test_a_password_that_may_not_be_set_changes_nothing_and_uses_up_no_link(
    accounts: Accounts, password: str
) -> None:
    opened = await signed_up(accounts)
    token = _token(await accounts.password_reset.link(EMAIL))
    for refused in (
        accounts.password_reset.reset(token, password),
        accounts.password_reset.change(await by_session(accounts, opened.session), password),
        accounts.password_reset.change(await by_key(accounts, opened.api_key), password),
    ):
        with pytest.raises(InvalidInput, match="password"):
            await refused

    assert await _is_in(accounts, opened.session)
    assert await _passwords_that_work(accounts, EMAIL) == {PASSWORD}
    await accounts.password_reset.reset(token, NEW)


async def test_a_token_of_nobody_is_refused_before_anything_is_hashed(accounts: Accounts, database: Database) -> None:
    await signed_up(accounts)
    token = _token(await accounts.password_reset.link(EMAIL))
    accounts.passwords.close()  # hashing raises another error from now on
    for wrong in ("", token[:-1], token + "a", f" {token}", digest_of(token), "\0", "\ud800", "🦷", "x" * 100_000):
        with pytest.raises(InvalidInput, match="not valid"):
            await accounts.password_reset.reset(wrong, NEW)
    assert await _rows(database, "reset_tokens") == 1


async def test_a_token_is_read_to_its_end(accounts: Accounts) -> None:
    await signed_up(accounts)
    token = _token(await accounts.password_reset.link(EMAIL))
    with pytest.raises(InvalidInput):
        await accounts.password_reset.reset(token + "a" * (MAX_TOKEN_LENGTH - len(token)), NEW)


async def test_three_links_are_made_for_a_user_within_an_hour(accounts: Accounts, clock: SteppedClock) -> None:
    await _two_who_are_in(accounts)
    for _ in range(LINKS_PER_HOUR):
        await accounts.password_reset.link(EMAIL)
        clock.move(600)
    with pytest.raises(InvalidInput, match="3 links"):
        await accounts.password_reset.link(EMAIL)
    await accounts.password_reset.link(MEMBER)

    clock.move(HOUR - LINKS_PER_HOUR * 600 - 1)
    with pytest.raises(InvalidInput, match="3 links"):
        await accounts.password_reset.link(EMAIL)
    clock.move(1)
    await accounts.password_reset.link(EMAIL)
    with pytest.raises(InvalidInput, match="3 links"):
        await accounts.password_reset.link(EMAIL)


async def test_simultaneous_links_do_not_pass_three(accounts: Accounts, database: Database) -> None:
    await signed_up(accounts)

    made = await asyncio.gather(*(accounts.password_reset.link(EMAIL) for _ in range(8)), return_exceptions=True)

    assert Counter(type(each) for each in made) == {str: 3, InvalidInput: 5}
    assert await _rows(database, "reset_tokens") == 3


async def test_of_many_simultaneous_resets_with_one_link_one_wins(accounts: Accounts) -> None:
    await signed_up(accounts)
    token = _token(await accounts.password_reset.link(EMAIL))

    ends = await asyncio.gather(
        *(accounts.password_reset.reset(token, f"password number {index}") for index in range(6)),
        return_exceptions=True,
    )

    assert Counter(isinstance(end, InvalidInput) for end in ends) == {False: 1, True: 5}
    [won] = [index for index, end in enumerate(ends) if not isinstance(end, InvalidInput)]
    await accounts.sessions.login(EMAIL, f"password number {won}")


async def test_of_simultaneous_resets_with_two_links_one_wins(accounts: Accounts) -> None:
    await signed_up(accounts)
    tokens = [_token(await accounts.password_reset.link(EMAIL)) for _ in range(2)]

    ends = await asyncio.gather(
        *(accounts.password_reset.reset(token, f"password of {token}") for token in tokens), return_exceptions=True
    )

    assert Counter(isinstance(end, InvalidInput) for end in ends) == {False: 1, True: 1}
    [won] = [token for token, end in zip(tokens, ends, strict=True) if not isinstance(end, InvalidInput)]
    await accounts.sessions.login(EMAIL, f"password of {won}")


@pytest.mark.parametrize("gone", ["user", "account"])
async def test_a_link_for_whoever_goes_at_that_moment_is_refused_in_words(
    accounts: Accounts, database: Database, gone: str
) -> None:
    first, _second, _member = await _two_who_are_in(accounts)
    account_id, member_id = first.profile.account.id, (await accounts.admin.profile(MEMBER)).users[1].id
    async with database.transaction() as connection:
        await repository.lock_account(connection, account_id)
        late = asyncio.create_task(accounts.password_reset.link(MEMBER))
        await _somebody_waits(database, connection)
        if gone == "user":
            await repository.remove_user(connection, account_id, member_id)
        else:
            await repository.delete_account(connection, account_id)

    with pytest.raises(NoSuchAccount):
        await asyncio.wait_for(late, WAIT_SECONDS)


async def _somebody_waits(database: Database, connection: AsyncConnection) -> None:
    """On PostgreSQL until another connection waits for a lock; on SQLite it waits for whoever writes, anyhow."""
    waiting = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
    async with asyncio.timeout(WAIT_SECONDS):
        while database.kind == "postgresql" and not (await connection.execute(waiting)).scalar_one():
            await asyncio.sleep(0)


async def test_a_mail_with_the_link_goes_to_the_address_as_it_is_kept(accounts: Accounts, mail: MemoryMailer) -> None:
    await signed_up(accounts)
    await prove_address(accounts)
    mail.mails.clear()
    with capture_logs() as logged:
        accounts.password_reset.send_link(f" {EMAIL.upper()} ")
        await accounts.password_reset.mails.settled()

    assert [each.to for each in mail.mails] == [EMAIL]
    found = re.search(
        r"http://localhost:8000/password/reset\?token=([A-Za-z0-9_-]{43})$", mail.mails[0].text, re.MULTILINE
    )
    assert found
    assert found[1] not in repr(mail.mails[0])
    assert logged == []
    await accounts.password_reset.reset(found[1], NEW)
    await accounts.sessions.login(EMAIL, NEW)


async def test_an_address_of_nobody_gets_no_mail_and_leaves_nothing(
    accounts: Accounts, mail: MemoryMailer, database: Database
) -> None:
    await signed_up(accounts)
    await prove_address(accounts)
    mail.mails.clear()
    with capture_logs() as logged:
        accounts.password_reset.send_link(UNAUTHENTICATED)
        await accounts.password_reset.mails.settled()

    assert mail.mails == []
    assert await _rows(database, "reset_tokens") == 0
    assert logged == []
    with pytest.raises(NoSuchAccount):
        await accounts.password_reset.link(UNAUTHENTICATED)


async def test_a_fourth_mail_within_an_hour_is_not_sent_and_the_operator_reads_why(
    accounts: Accounts, mail: MemoryMailer
) -> None:
    await signed_up(accounts)
    await prove_address(accounts)
    mail.mails.clear()
    with capture_logs() as logged:
        for _ in range(LINKS_PER_HOUR + 1):
            accounts.password_reset.send_link(EMAIL)
        await accounts.password_reset.mails.settled()

    assert len(mail.mails) == LINKS_PER_HOUR
    assert [each["log_level"] for each in logged] == ["info"]
    assert "3 links were made" in logged[0]["reason"]
    assert EMAIL not in str(logged)


async def test_too_many_mails_at_once_are_not_sent_and_the_operator_reads_why(
    accounts: Accounts, mail: MemoryMailer
) -> None:
    await signed_up(accounts)
    await prove_address(accounts)
    mail.mails.clear()
    with capture_logs() as logged:
        for _ in range(MAX_SENDING):
            accounts.password_reset.send_link(UNAUTHENTICATED)
        accounts.password_reset.send_link(EMAIL)
        assert [each["event"] for each in logged] == ["no reset link was mailed: too many are being sent already"]
        await accounts.password_reset.mails.settled()
        accounts.password_reset.send_link(EMAIL)
        await accounts.password_reset.mails.settled()

    assert [each.to for each in mail.mails] == [EMAIL]
    assert EMAIL not in str(logged)


async def test_where_no_mail_arrives_nobody_is_told_but_the_operator(
    mailless: Accounts, hanging: HangingMail, database: Database
) -> None:
    await mailless.admin.create(EMAIL, "Acme", PlanName.TRIAL, None)
    with capture_logs() as logged:
        for asked in (EMAIL, UNAUTHENTICATED):
            mailless.password_reset.send_link(asked)
        async with asyncio.timeout(WAIT_SECONDS):
            while not logged and not hanging.begun.is_set():
                await asyncio.sleep(0)
        await asyncio.wait_for(mailless.password_reset.mails.close(), WAIT_SECONDS)

    if not hanging.begun.is_set():
        assert [(each["event"], each["log_level"]) for each in logged] == [("no reset link was mailed", "error")]
        assert logged[0]["reason"] in (
            "No mail can be sent, as REGISTERWATCH_SMTP_URL is not set.",
            "The mail server said 550.",
        )
    for secret in (EMAIL, UNAUTHENTICATED, "token="):
        assert secret not in str(logged)


async def test_closing_does_not_wait_for_a_mail_that_hangs(
    database: Database, clock: SteppedClock, hanging: HangingMail, tmp_path: Path
) -> None:
    accounts = build_accounts(Settings(data_dir=tmp_path), database, clock, hanging, quick_passwords())
    await accounts.admin.create(EMAIL, "Acme", PlanName.TRIAL, None)
    with capture_logs() as logged:
        accounts.password_reset.send_link(EMAIL)
        await asyncio.wait_for(hanging.begun.wait(), WAIT_SECONDS)
        await asyncio.wait_for(accounts.close(), WAIT_SECONDS)
        await asyncio.wait_for(accounts.close(), WAIT_SECONDS)

    assert hanging.ended.is_set()
    assert logged == []
    assert [task.get_name() for task in asyncio.all_tasks() if task.get_name() == "mail a reset link"] == []


async def test_no_log_and_no_error_shows_a_secret_or_an_address(accounts: Accounts, mail: MemoryMailer) -> None:
    opened = await signed_up(accounts)
    owner = await owner_of(accounts, STRANGER)
    link = await accounts.password_reset.link(EMAIL)
    told: list[str] = []
    with capture_logs() as logged:
        for refused in (
            accounts.password_reset.reset(_token(link) + "a", NEW),
            accounts.password_reset.reset(_token(link), "short"),
            accounts.password_reset.change(owner, "short"),
            accounts.sessions.login(EMAIL, NEW),
            accounts.sessions.trial("Acme", EMAIL, NEW),
            accounts.members.add_user(owner, EMAIL, NEW),
            accounts.deletion.delete(owner, NEW),
            by_key(accounts, f"{opened.api_key}a"),
            by_session(accounts, f"{opened.session}a"),
        ):
            with pytest.raises((InvalidInput, WrongPassword, Unauthenticated)) as said:
                await refused
            told.append(f"{said.value!r}")
        await accounts.password_reset.reset(_token(link), NEW)

    assert {line["event"] for line in logged} == {"a sign-in failed"}
    told += map(repr, logged)
    for secret in (_token(link), "short'", NEW, EMAIL, opened.session, opened.api_key or ""):
        assert secret not in " ".join(told), secret


async def _passwords_that_work(accounts: Accounts, email: str) -> set[str]:
    """Which of those that these tests use."""
    found = set()
    for password in (PASSWORD, NEW, "a third password", "a member's own"):
        try:
            await accounts.sessions.login(email, password)
        except WrongPassword:
            continue
        found.add(password)
    return found
