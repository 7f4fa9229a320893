"""`registerwatch accounts …`, as an operator types it."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from registerwatch.accounts.sessions.credentials import credential_of
from registerwatch.accounts.use_cases import Accounts
from registerwatch.errors import WrongPassword
from tests.commands.steps import EMAIL, MEMBER, PASSWORD, Operator
from tests.support import processes
from tests.support.terminal import Said

LONG_EMAIL = f"{'a' * 60}@{'y' * 60}.example"
INSTANT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"

ENDS = {
    "2027-01-31": "2027-01-31T00:00:00Z",
    "2027-01-31T12:00:00Z": "2027-01-31T12:00:00Z",
    "2027-01-31T12:00:00": "2027-01-31T12:00:00Z",
    "2027-01-31 12:00": "2027-01-31T12:00:00Z",
    "2027-01-31T12:00:00+02:00": "2027-01-31T10:00:00Z",
    "2027-01-31T23:30:00-05:30": "2027-02-01T05:00:00Z",
    "2028-02-29T23:59:59.999Z": "2028-02-29T23:59:59Z",
    "9999-12-31": "9999-12-31T00:00:00Z",
}
"""Times as they are typed, and as they are understood."""


def test_a_service_without_accounts_says_so(operator: Operator) -> None:
    assert operator.types("list") == Said(0, "There is no account yet.\n", "")


def test_every_account_is_listed_whole_on_a_line_of_its_own(operator: Operator) -> None:
    operator.knows(EMAIL, "[bold]Acme[/nonsense] :key: & Co")
    operator.knows(LONG_EMAIL, "名" * 200)
    operator.types("set", EMAIL, "--plan", "standard", "--expires-at", "2020-01-31")

    said = operator.types("list")

    assert (said.code, said.err) == (0, "")
    head, *lines = [re.split(r"\s{2,}", line.strip()) for line in said.out.splitlines()]
    assert head == ["e-mail", "name", "plan", "until", "users"]
    assert lines[0] == [EMAIL, "[bold]Acme[/nonsense] :key: & Co", "standard", "ended 2020-01-31T00:00:00Z", "1"]
    assert lines[1][:3] == [LONG_EMAIL, "名" * 200, "trial"]
    assert re.fullmatch(f"until {INSTANT}", lines[1][3])
    assert len(lines) == 2


def test_an_account_is_shown_with_its_users_and_keys(operator: Operator) -> None:
    operator.knows(EMAIL, "Acme [GmbH]")
    masks = operator.meanwhile(_grow)

    said = operator.types("show", MEMBER.upper())

    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert re.fullmatch(rf"account  {EMAIL}, Acme \[GmbH\], since {INSTANT}", lines[0])
    assert re.fullmatch(f"plan     trial, until {INSTANT}; at most 25 watches", lines[1])
    assert lines[2:] == [
        f"user     1: {EMAIL}, owner",
        f"user     2: {MEMBER}, member",
        f"key      1: {masks[0]} first key, revoked",
        f"key      2: {masks[1]} [ERP] :key: {'x' * 68}",
    ]
    assert operator.types("show", EMAIL) == said


async def _grow(accounts: Accounts) -> list[str]:
    """A member comes, a key goes, another comes; gives the masks of both."""
    opened = await accounts.sessions.login(EMAIL, PASSWORD)
    owner = await accounts.sessions.caller(credential_of(None, opened.session))
    await accounts.members.add_user(owner, MEMBER, PASSWORD)
    await accounts.api_keys.revoke(owner, opened.profile.keys[0].id)
    await accounts.api_keys.create(owner, f"[ERP] :key: {'x' * 200}")
    return [key.prefix for key in (await accounts.members.profile(owner)).keys]


@pytest.fixture
def far_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose own time is that of Tokyo."""
    with monkeypatch.context() as there:
        there.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("far_east")
def test_the_end_of_the_period_is_set_in_utc_unless_it_names_a_zone(operator: Operator) -> None:
    operator.knows(EMAIL)
    for typed, until in ENDS.items():
        said = operator.types("set", EMAIL, "--expires-at", typed)

        assert (said.code, said.err) == (0, "")
        assert f"plan     trial, until {until}; at most 25 watches\n" in said.out
        assert operator.types("show", EMAIL) == said


def test_the_plan_is_set_and_a_period_that_is_over_is_told_as_ended(operator: Operator) -> None:
    operator.knows(EMAIL)

    assert "plan     operator, until" in operator.types("set", EMAIL, "--plan", "operator").out
    said = operator.types("set", EMAIL, "--plan", "standard", "--expires-at", "1999-12-31")

    assert (said.code, said.err) == (0, "")
    assert "plan     standard, ended 1999-12-31T00:00:00Z; at most 250 watches\n" in said.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show", "nobody@acme.example"), "Nobody has the e-mail address nobody@acme.example"),
        (("set", "nobody@acme.example", "--plan", "standard"), "Nobody has the e-mail address nobody@acme.example"),
        (("reset-link", "nobody@acme.example"), "Nobody has the e-mail address nobody@acme.example"),
        (("show", "acme"), "no e-mail address"),
        (("show", ""), "no e-mail address"),
        (("reset-link", "[/x]@acme.example"), "no e-mail address"),
        (("set", EMAIL), "--plan, --expires-at, or both"),
        (("set", EMAIL, "--expires-at", "tomorrow"), "“tomorrow” is no time; write 2027-01-31"),
        (("set", EMAIL, "--expires-at", ""), "is no time"),
        (("set", EMAIL, "--expires-at", "31.01.2027"), "is no time"),
        (("set", EMAIL, "--expires-at", "2027-02-30"), "is no time"),
        (("set", EMAIL, "--expires-at", "2027-01-31T25:00"), "is no time"),
        (("set", EMAIL, "--expires-at", "1800000000"), "is no time"),
        (("set", EMAIL, "--expires-at", "10000-01-01"), "is no time"),
        (("set", EMAIL, "--plan", "standard", "--expires-at", "soon"), "is no time"),
        (("create", EMAIL), "A user with this e-mail address exists already"),
        (("create", f" {EMAIL.upper()}", "--plan", "operator"), "A user with this e-mail address exists already"),
        (("create", "acme"), "no e-mail address"),
        (("create", "new@acme.example", "--expires-at", "soon"), "is no time"),
        (("key", "nobody@acme.example"), "Nobody has the e-mail address nobody@acme.example"),
        (("delete", "nobody@acme.example", "--yes"), "Nobody has the e-mail address nobody@acme.example"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_what_cannot_be_done_is_one_line_and_changes_nothing(
    operator: Operator, words: tuple[str, ...], said: str
) -> None:
    operator.knows(EMAIL)
    before = operator.types("show", EMAIL)

    refused = operator.types(*words)

    assert (refused.code, refused.out) == (1, "")
    assert said in refused.err
    assert refused.err.startswith("registerwatch: ")
    assert refused.err.count("\n") == 1
    assert operator.types("show", EMAIL) == before
    assert len(operator.types("list").out.splitlines()) == 2


def test_what_is_no_command_is_explained(operator: Operator) -> None:
    for words, said in (
        (("set", EMAIL, "--plan", "nonsense"), "'trial'"),
        (("set", "--plan", "standard"), "EMAIL"),
        (("set", EMAIL, "--expires-at"), "--expires-at"),
        (("show",), "EMAIL"),
        (("reset-link",), "EMAIL"),
        (("create",), "EMAIL"),
        (("create", EMAIL, "--plan", "nonsense"), "'trial'"),
        (("key",), "EMAIL"),
        (("delete",), "EMAIL"),
        (("rename", EMAIL), "rename"),
    ):
        refused = operator.types(*words)

        assert (refused.code, refused.out) == (2, "")
        assert said in refused.err
        assert "Traceback" not in refused.err


def test_a_reset_link_is_printed_alone_and_sets_a_password(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGISTERWATCH_PUBLIC_URL", "https://watch.example.org/")
    operator.knows(EMAIL)

    said = operator.types("reset-link", EMAIL)

    link = re.fullmatch(r"https://watch\.example\.org/password/reset\?token=([A-Za-z0-9_-]{43})\n", said.out)
    assert link
    assert (said.code, said.err) == (0, "")
    operator.meanwhile(lambda accounts: accounts.password_reset.reset(link[1], "a new password"))
    assert operator.meanwhile(lambda accounts: accounts.sessions.login(EMAIL, "a new password")).existing
    with pytest.raises(WrongPassword):
        operator.meanwhile(lambda accounts: accounts.sessions.login(EMAIL, PASSWORD))


def test_a_fourth_link_within_an_hour_is_refused_in_words(operator: Operator) -> None:
    operator.knows(EMAIL)
    assert len({operator.types("reset-link", EMAIL).out for _ in range(3)}) == 3

    refused = operator.types("reset-link", EMAIL)

    assert (refused.code, refused.out) == (1, "")
    assert "3 links were made for this user within an hour" in refused.err


def test_a_process_of_its_own_brings_a_new_database_to_its_schema_and_answers(tmp_path: Path) -> None:
    env = processes.environment(tmp_path, f"sqlite:///{tmp_path / 'new.db'}")

    done = processes.run("accounts", "list", env=env)

    assert (done.returncode, done.stdout, done.stderr) == (0, "There is no account yet.\n", "")


def test_a_database_that_does_not_answer_is_one_line(tmp_path: Path) -> None:
    done = processes.run(
        "accounts", "show", EMAIL, env=processes.environment(tmp_path, "postgresql://nobody@127.0.0.1:9/none")
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert "database does not answer" in done.stderr
    assert "Traceback" not in done.stderr
