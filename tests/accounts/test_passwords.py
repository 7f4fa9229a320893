"""Passwords: which may be set, what is stored of them, what comparing tells, and who waits for whom."""

import asyncio
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from argon2 import PasswordHasher, Type
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from registerwatch.accounts.passwords.passwords import MAX_WAITING, Passwords, acceptable
from registerwatch.accounts.use_cases import build_accounts
from registerwatch.errors import InvalidInput, Overloaded, WrongPassword
from registerwatch.mail.memory_mailer import MemoryMailer
from registerwatch.platform.db.engine import Database
from registerwatch.settings import Settings
from tests.accounts.actions import EMAIL, PASSWORD, signed_up
from tests.register.builders import PROPERTY
from tests.support.fakes import SteppedClock, quick_passwords

WAIT_SECONDS = 10.0


class WatchedHasher(PasswordHasher):
    """The quickest argon2id there is; counts what it does, and waits at a gate that may be closed."""

    def __init__(self) -> None:
        super().__init__(time_cost=1, memory_cost=8, parallelism=1, type=Type.ID)
        self.done: Counter[str] = Counter()
        self.threads: set[str] = set()
        self.gate = threading.Event()
        self.gate.set()

    def hash(self, password: str | bytes, *, salt: bytes | None = None) -> str:
        self._at_work("hash")
        return super().hash(password, salt=salt)

    def verify(self, hash: str | bytes, password: str | bytes) -> bool:  # type: ignore[override]  # noqa: A002  # its names; it says Literal[True]
        self._at_work("verify")
        return super().verify(hash, password)

    def _at_work(self, what: str) -> None:
        self.threads.add(threading.current_thread().name)
        self.done[what] += 1
        if not self.gate.wait(WAIT_SECONDS):
            self.gate.set()  # the others need not wait in vain as well
            raise TimeoutError("nobody opened the gate")


@pytest.fixture
def passwords() -> Iterator[Passwords]:
    made = quick_passwords()
    yield made
    made.close()


@pytest.fixture
def hasher() -> Iterator[WatchedHasher]:
    made = WatchedHasher()
    yield made
    made.gate.set()


@pytest.fixture
def watched(hasher: WatchedHasher) -> Iterator[Passwords]:
    """Passwords by the hasher that is watched."""
    made = Passwords(hasher)
    yield made
    hasher.gate.set()
    made.close()


@pytest.mark.parametrize("password", ["", "1234567", "🦷" * 7, "x" * 1_025, "x" * 100_000])
async def test_a_password_of_another_length_is_refused_in_words_that_do_not_repeat_it(password: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        acceptable(password)
    assert password not in str(refused.value) or not password


@pytest.mark.parametrize(
    "password", ["12345678", "🦷" * 8, " " * 8, "x" * 1_000, "x" * 1_024, "🦷" * 1_024, "\0" * 8, "\ud800" * 8]
)
async def test_a_password_of_8_to_1024_characters_is_taken_and_compared_to_its_end(
    passwords: Passwords, password: str
) -> None:
    stored = await passwords.hashed(acceptable(password))

    assert await passwords.is_right(password, stored)
    for wrong in (password[:-1], password + password[-1], password[:-1] + "y", password[1:] + "y", "", "x" * 10_000):
        assert not await passwords.is_right(wrong, stored)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a\0bcdefgh", "a\0bcdefgi"),
        ("a\0bcdefgh", "a\0"),
        ("a\0bcdefgh", "a"),
        ("a\0bcdefgh", "abcdefgh"),
        ("correct horse", "Correct horse"),
        ("correct horse", "correct horse "),
        ("\ud800 password", "\ud801 password"),
        ("\udfff Password", "\ufffd Password"),
        ("\ud83e\udd87 password", "🦷 password"),
    ],
    ids=ascii,
)
async def test_passwords_that_differ_are_told_apart(passwords: Passwords, one: str, other: str) -> None:
    assert not await passwords.is_right(other, await passwords.hashed(one))
    assert not await passwords.is_right(one, await passwords.hashed(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ångström1", "A\u030angstro\u0308m1"),
        ("ﬁnancial", "financial"),
        ("ｐａｓｓｗｏｒｄ", "password"),
        ("non\u00a0breaking", "non breaking"),
        ("\u212bngstr\u00f6m1", "Ångström1"),
        ("각각각각각각각각", unicodedata.normalize("NFD", "각각각각각각각각")),
    ],
    ids=ascii,
)
async def test_a_password_typed_on_another_keyboard_is_the_same(passwords: Passwords, one: str, other: str) -> None:
    assert one != other
    assert await passwords.is_right(other, await passwords.hashed(one))
    assert await passwords.is_right(one, await passwords.hashed(other))


@PROPERTY
@given(password=st.text(st.characters(), min_size=8, max_size=40), other=st.text(st.characters(), max_size=40))
async def test_any_password_is_right_however_it_is_composed_and_any_other_is_wrong(
    passwords: Passwords, password: str, other: str
) -> None:
    stored = await passwords.hashed(acceptable(password))
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert await passwords.is_right(unicodedata.normalize(form, password), stored)
    is_same = unicodedata.normalize("NFKC", other) == unicodedata.normalize("NFKC", password)
    assert await passwords.is_right(other, stored) is is_same


async def test_what_is_stored_has_the_parameters_that_owasp_names_and_a_salt_of_its_own() -> None:
    passwords = Passwords()
    stored, again = [await passwords.hashed(PASSWORD) for _ in range(2)]

    for each in (stored, again):
        assert each.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
        assert PASSWORD not in each
    assert stored != again
    assert not passwords.is_outdated(stored)
    assert await passwords.is_right(PASSWORD, again)
    passwords.close()


async def test_older_parameters_still_compare_and_are_known_as_outdated(passwords: Passwords) -> None:
    for older in (
        PasswordHasher(time_cost=2, memory_cost=8, parallelism=1),
        PasswordHasher(time_cost=1, memory_cost=8, parallelism=1, type=Type.I),
    ):
        stored = older.hash(PASSWORD)
        assert await passwords.is_right(PASSWORD, stored)
        assert passwords.is_outdated(stored)


def _broken() -> dict[str, str]:
    whole = "$argon2id$v=19$m=8,t=1,p=1$06cjDFK9TcILUqfvRLK8Fg$4xPvJ0TDsa1LWdMlXXm2BVTqh2L5mFjUiXLX0SxXHHA"
    return {
        "nothing": "",
        "a word": "nonsense",
        "another method": "$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW",
        "cut off": whole[:-5],
        "cut off early": whole[:40],
        "no base64": "$argon2id$v=19$m=8,t=1,p=1$!!!$???",
        "parameters that are no numbers": whole.replace("m=8", "m=zz"),
        "more memory than there is": whole.replace("m=8", "m=4294967295"),
        "a sign beyond ASCII": whole + "é",
    }


@pytest.mark.parametrize("stored", _broken().values(), ids=_broken())
async def test_a_stored_password_that_cannot_be_read_is_wrong_and_told_to_the_operator(
    passwords: Passwords, stored: str
) -> None:
    with capture_logs() as logged:
        assert not await passwords.is_right(PASSWORD, stored)

    assert [(each["log_level"], each["event"]) for each in logged] == [
        ("error", "a stored password cannot be read; its user needs a new one")
    ]
    assert PASSWORD not in str(logged)
    assert not stored or stored not in str(logged)


async def test_a_wrong_password_is_nothing_that_is_logged(passwords: Passwords) -> None:
    stored = await passwords.hashed(PASSWORD)
    with capture_logs() as logged:
        assert not await passwords.is_right("wrong", stored)
        assert not await passwords.is_right("wrong", None)
    assert logged == []


@pytest.mark.parametrize("password", ["", PASSWORD, "\0"])
async def test_nothing_matches_where_no_password_was_stored(passwords: Passwords, password: str) -> None:
    assert not await passwords.is_right(password, None)


@pytest.mark.parametrize("earlier", [0, 2])
@pytest.mark.parametrize(("email", "password"), [("nobody@acme.example", PASSWORD), ("no address", "wrong")])
async def test_an_unknown_user_costs_the_work_of_a_wrong_password(
    database: Database, tmp_path: Path, earlier: int, email: str, password: str
) -> None:
    """From the first request of a process on, or its time would tell who has an account."""
    settings, clock = Settings(data_dir=tmp_path), SteppedClock()
    first = build_accounts(settings, database, clock, MemoryMailer(), Passwords(WatchedHasher()))
    await signed_up(first)
    await first.close()
    work = [
        await _work_of_logins(database, settings, (*[(EMAIL, "wrong")] * earlier, asked))
        for asked in ((EMAIL, "wrong"), (email, password))
    ]
    assert work[0] == work[1]
    assert work[0]["verify"] == earlier + 1


async def _work_of_logins(database: Database, settings: Settings, asked: tuple[tuple[str, str], ...]) -> Counter[str]:
    """What the hasher of a fresh process does for logins that are refused."""
    hasher = WatchedHasher()
    accounts = build_accounts(settings, database, SteppedClock(), MemoryMailer(), Passwords(hasher))
    for email, password in asked:
        with pytest.raises(WrongPassword):
            await accounts.sessions.login(email, password)
    await accounts.close()
    return hasher.done


async def test_too_many_who_wait_are_refused_and_later_ones_are_not(hasher: WatchedHasher, watched: Passwords) -> None:
    stored = await watched.hashed(PASSWORD)
    hasher.gate.clear()
    waiting = [asyncio.create_task(watched.is_right(PASSWORD, stored)) for _ in range(MAX_WAITING)]
    await asyncio.sleep(0)

    for refused in (watched.hashed(PASSWORD), watched.is_right(PASSWORD, stored), watched.is_right(PASSWORD, None)):
        with pytest.raises(Overloaded):
            await asyncio.wait_for(refused, WAIT_SECONDS)
    hasher.gate.set()

    assert await asyncio.wait_for(asyncio.gather(*waiting), WAIT_SECONDS) == [True] * MAX_WAITING
    assert await watched.is_right(PASSWORD, await watched.hashed(PASSWORD))


async def test_whoever_gives_up_waiting_makes_room(hasher: WatchedHasher, watched: Passwords) -> None:
    hasher.gate.clear()
    waiting = [asyncio.create_task(watched.hashed(PASSWORD)) for _ in range(MAX_WAITING)]
    await asyncio.sleep(0)
    waiting[-1].cancel()
    await asyncio.gather(waiting[-1], return_exceptions=True)

    late = asyncio.create_task(watched.hashed(PASSWORD))
    await asyncio.sleep(0)
    with pytest.raises(Overloaded):
        await asyncio.wait_for(watched.hashed(PASSWORD), WAIT_SECONDS)
    hasher.gate.set()

    assert await asyncio.wait_for(late, WAIT_SECONDS)
    await asyncio.gather(*waiting[:-1])


async def test_hashing_that_fails_makes_room_too(watched: Passwords, hasher: WatchedHasher) -> None:
    for _ in range(MAX_WAITING + 1):
        with pytest.raises(TypeError):
            await watched.hashed(None)  # type: ignore[arg-type]  # to make it fail
    assert await watched.hashed(PASSWORD)


async def test_the_event_loop_goes_on_while_passwords_are_hashed(hasher: WatchedHasher, watched: Passwords) -> None:
    hasher.gate.clear()
    hashing = asyncio.create_task(watched.hashed(PASSWORD))
    async with asyncio.timeout(WAIT_SECONDS):
        while not hasher.threads:
            await asyncio.sleep(0)
    assert not hashing.done(), "it waits at the gate, and this test goes on"
    hasher.gate.set()
    await watched.is_right(PASSWORD, await hashing)
    await watched.is_right(PASSWORD, None)

    assert all(name.startswith("passwords") for name in hasher.threads)


async def test_closing_waits_for_nobody_ends_what_waits_and_finishes_what_is_at_work(
    hasher: WatchedHasher, watched: Passwords
) -> None:
    hasher.gate.clear()
    waiting = [asyncio.create_task(watched.hashed(PASSWORD)) for _ in range(MAX_WAITING)]
    async with asyncio.timeout(WAIT_SECONDS):
        while not hasher.threads:
            await asyncio.sleep(0)

    watched.close()
    watched.close()
    hasher.gate.set()
    ends = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), WAIT_SECONDS)

    finished = [end for end in ends if isinstance(end, str)]
    assert 1 <= len(finished) == hasher.done["hash"] < MAX_WAITING
    assert all(isinstance(end, asyncio.CancelledError) for end in ends if end not in finished)
    with pytest.raises(RuntimeError):
        await watched.hashed(PASSWORD)
