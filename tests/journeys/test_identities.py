"""A victim and an attacker at each step of sign-up, confirmation, invitation and reset: who can do what afterwards.

The table in docs/accounts.md is what this brings about and looks at, cell by cell.
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import pytest

from registerwatch.accounts.sessions import known_clients
from registerwatch.accounts.sessions.clients import Client
from registerwatch.accounts.sessions.credentials import credential_of
from registerwatch.errors import InvalidInput
from registerwatch.mail.mailer import NoMailer
from tests.support.harness import ServiceHarness, ServiceStarter, auth_headers
from tests.support.receiver import Receiver, receiver

PAGE = Path(__file__).parents[2] / "docs" / "accounts.md"
VICTIM, ATTACKER, SECOND = "victim@hospital.example", "attacker@evil.example", "second@evil.example"
HERS, HIS = "the victim's own words", "the attacker's words"
ELSEWHERE = Client("203.0.113.9", "203.0.113.9")
LINK = re.compile(r"http://localhost:8000(/account/(?:confirm|invitation)|/password/reset)\?token=([\w.-]{43,})")
COLUMNS = ("key", "session", "password", "webhook", "feed", "second user", "the victim signs in as")
WORKS, ENDED, NONE = "works", "ended", "–"


@dataclass
class Scene:
    """What the two have after what happened."""

    harness: ServiceHarness
    box: Receiver
    key: str = ""
    session: str = ""
    account: int = 0
    feed: str = ""
    logged_in_as: tuple[str, str] = (VICTIM, HIS)
    """Address and password by which the attacker would sign in to what was theirs."""
    refusals: list[str] = field(default_factory=list)

    async def post(self, path: str, credential: str = "", /, **fields: object) -> httpx2.Response:
        return await self.harness.post(path, credential, **fields)

    async def link(self, to: str = VICTIM) -> tuple[str, str]:
        """Path and token of the newest link that was mailed to somebody."""
        await self.harness.finish_background_work()
        found = [LINK.search(mail.text) for mail in self.harness.mail.mails if mail.to == to]
        last = [each for each in found if each][-1]
        assert last is not None
        return last[1], last[2]

    async def choose(self, choice: str, **fields: str) -> httpx2.Response:
        """Open the newest link of the victim, and answer its page."""
        path, token = await self.link()
        assert (await self.harness.get(path, token=token)).status_code == 200
        return await self.harness.client.post("/account/confirm", data={"token": token, "choice": choice, **fields})

    async def row(self) -> dict[str, str]:
        """What each of the two can do now."""
        rows = self.harness.all_rows()
        has_account = self.account in {row["id"] for row in rows["accounts"]}
        email, password = self.logged_in_as
        victims = await self.post("/v1/login", email=VICTIM, password=HERS)
        return {
            "key": await self._may(self.key),
            "session": await self._may(self.session),
            "password": _word((await self.post("/v1/login", email=email, password=password)).status_code),
            "webhook": WORKS if [row for row in rows["webhooks"] if row["account_id"] == self.account] else ENDED,
            "feed": NONE if not self.feed else _word((await self.harness.client.get(self.feed)).status_code),
            "second user": WORKS if SECOND in {row["email"] for row in rows["users"]} and has_account else ENDED,
            "the victim signs in as": (
                _role(victims.json(), rows["users"], self.account) if victims.status_code == 200 else "nobody"
            ),
        }

    async def _may(self, credential: str) -> str:
        if not credential:
            return NONE
        return _word((await self.harness.client.get("/v1/me", headers=auth_headers(credential))).status_code)


def _word(status: int) -> str:
    assert status in (200, 401)
    return WORKS if status == 200 else ENDED


def _role(answer: Mapping[str, object], users: list[dict[str, object]], account: int) -> str:
    [own] = [row for row in users if row["email"] == VICTIM]
    of_whom = "the attacker's account" if own["account_id"] == account else "an account of their own"
    if own["account_id"] == account and answer["role"] == "owner":
        return "owner of this account"
    return f"{answer['role']} of {of_whom}"


async def _furnished(scene: Scene, credential: str) -> None:
    """The attacker makes whatever lets somebody in later."""
    await scene.post("/v1/webhook", credential, url=scene.box.url)
    feed = (await scene.post("/v1/feeds", credential)).json()["feed"]
    scene.feed = feed["events"].removeprefix("http://localhost:8000")
    added = await scene.post("/v1/users", credential, email=SECOND, password=HIS)
    assert added.status_code == 200, added.text


async def opened_in_the_victims_name(scene: Scene) -> None:
    opened = await scene.harness.sign_up(VICTIM, HIS)
    scene.key, scene.session = opened.api_key, opened.session
    scene.account = scene.harness.all_rows()["accounts"][0]["id"]
    await _furnished(scene, opened.session)


async def added_the_victim(scene: Scene) -> None:
    opened = await scene.harness.sign_up(ATTACKER, HIS)
    scene.account = scene.harness.all_rows()["accounts"][0]["id"]
    await _furnished(scene, opened.session)
    assert (await scene.post("/v1/users", opened.session, email=VICTIM, password=HIS)).status_code == 200
    scene.key, scene.session = opened.api_key, await scene.harness.sign_in(VICTIM, HIS)


async def invited_the_victim(scene: Scene) -> None:
    opened = await scene.harness.sign_up(ATTACKER, HIS)
    scene.account = scene.harness.all_rows()["accounts"][0]["id"]
    await _furnished(scene, opened.session)
    caller = await scene.harness.service.accounts.sessions.caller(credential_of(None, opened.session))
    with pytest.raises(InvalidInput, match="Confirm your own"):
        await scene.harness.service.accounts.invitations.invite(caller, VICTIM)
    _, token = await scene.link(ATTACKER)
    await scene.harness.client.post("/account/confirm", data={"token": token, "choice": "keep", "password": HIS})
    await scene.harness.service.accounts.invitations.invite(caller, VICTIM)
    scene.key, scene.session = opened.api_key, opened.session


async def found_a_key_of_the_victim(scene: Scene) -> None:
    opened = await scene.harness.sign_up(VICTIM, HERS)
    scene.account = scene.harness.all_rows()["accounts"][0]["id"]
    assert (await scene.choose("keep", password=HERS)).status_code == 200
    scene.key = opened.api_key
    assert (await scene.post("/v1/password", scene.key, password=HIS)).status_code == 200
    scene.session = await scene.harness.sign_in(VICTIM, HIS)
    await _furnished(scene, scene.session)


async def nothing(_scene: Scene) -> None:
    """The victim does not look into their mail."""


async def signs_up(scene: Scene) -> None:
    answer = await scene.post("/v1/trial", email=VICTIM, password=HERS)
    scene.refusals.append(str(answer.status_code))


async def confirms_without_the_password(scene: Scene) -> None:
    answer = await scene.choose("keep", password="whatever it is")
    assert answer.status_code == 400


async def confirms_with_the_password(scene: Scene) -> None:
    assert (await scene.choose("keep", password=HIS)).status_code == 200


async def joins(scene: Scene) -> None:
    assert (await scene.choose("keep", password=HIS)).status_code == 400
    assert (await scene.choose("join", password=HERS)).status_code == 200


async def takes_over(scene: Scene) -> None:
    assert (await scene.choose("take-over", password=HERS)).status_code == 200


async def takes_over_later(scene: Scene) -> None:
    await signs_up(scene)
    scene.harness.clock.move(3600)
    await takes_over(scene)


async def deletes(scene: Scene) -> None:
    assert (await scene.choose("delete")).status_code == 400
    assert (await scene.choose("delete", sure="yes")).status_code == 200


async def leaves(scene: Scene) -> None:
    assert (await scene.choose("leave")).status_code == 200


async def leaves_and_opens(scene: Scene) -> None:
    assert (await scene.choose("open", password=HERS)).status_code == 200


async def leaves_and_signs_up(scene: Scene) -> None:
    await leaves(scene)
    await signs_up(scene)


async def resets_over_rest(scene: Scene) -> None:
    await scene.post("/v1/password/forgot", email=VICTIM)
    _, token = await scene.link()
    assert (await scene.post("/v1/password/reset", token=token, password=HERS)).status_code == 200


async def _resets_on_the_page(scene: Scene, **marks: str) -> None:
    await scene.post("/v1/password/forgot", email=VICTIM)
    path, token = await scene.link()
    assert (await scene.harness.get(path, token=token)).status_code == 200
    answer = await scene.harness.client.post(path, data={"token": token, "password": HERS, **marks})
    assert answer.status_code == 200


async def resets_on_the_page(scene: Scene) -> None:
    await _resets_on_the_page(scene)


async def resets_and_ends_all(scene: Scene) -> None:
    await _resets_on_the_page(scene, end="all")


async def resets_and_leaves(scene: Scene) -> None:
    await scene.post("/v1/password/forgot", email=VICTIM)
    assert (await scene.choose("open", password=HERS)).status_code == 200


async def accepts(scene: Scene) -> None:
    path, token = await scene.link()
    assert path == "/account/invitation"
    assert (await scene.harness.get(path, token=token)).status_code == 200
    assert (await scene.harness.client.post(path, data={"token": token, "password": HERS})).status_code == 200


Step = Callable[[Scene], Awaitable[None]]

STEPS: Mapping[str, tuple[Step, Mapping[str, Step]]] = {
    "The attacker opens a trial with the victim's address": (
        opened_in_the_victims_name,
        {
            "does nothing": nothing,
            "signs up too (400), and does nothing": signs_up,
            "says “it was me” without the password": confirms_without_the_password,
            "says “it was me” with the attacker's password": confirms_with_the_password,
            "says “it was not me”": takes_over,
            "signs up too (400), and says so by the second mail": takes_over_later,
            "deletes the account by the link": deletes,
            "resets the password over REST": resets_over_rest,
            "resets the password on the page": resets_on_the_page,
        },
    ),
    "The attacker adds the victim to their account": (
        added_the_victim,
        {
            "does nothing": nothing,
            "signs up too (400), and does nothing": signs_up,
            "says “yes”, with a password of their own": joins,
            "leaves": leaves,
            "leaves, and signs up": leaves_and_signs_up,
            "leaves, and opens an account on the page": leaves_and_opens,
            "resets the password over REST": resets_over_rest,
            "asks for a reset, and leaves by that link": resets_and_leaves,
        },
    ),
    "The attacker invites the victim": (
        invited_the_victim,
        {"does nothing": nothing, "signs up": signs_up, "accepts": accepts},
    ),
    "The attacker finds an API key of the victim's confirmed account, and sets the password by it": (
        found_a_key_of_the_victim,
        {
            "does nothing": nothing,
            "resets the password over REST": resets_over_rest,
            "resets the password on the page, and ends all": resets_and_ends_all,
        },
    ),
}
CASES = [(what, then) for what, (_, reactions) in STEPS.items() for then in reactions]


@pytest.fixture
async def scene(start_service: ServiceStarter) -> AsyncIterator[Scene]:
    async with receiver() as box, start_service(webhooks_allow_private=True) as harness:
        yield Scene(harness, box)


@pytest.mark.parametrize(("what", "then"), CASES, ids=[f"{what[13:40]}-{then[:40]}" for what, then in CASES])
async def test_afterwards_each_can_do_what_the_table_says(scene: Scene, what: str, then: str) -> None:
    begins, reactions = STEPS[what]
    await begins(scene)
    await reactions[then](scene)

    assert await scene.row() == _documented()[what, then]


def test_the_table_has_every_case_and_no_other() -> None:
    assert list(_documented()) == CASES


def _documented() -> dict[tuple[str, str], dict[str, str]]:
    """The rows of the table in docs/accounts.md. An empty first cell repeats the one above."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    begin = next(number for number, row in enumerate(cells) if row[2:] == list(COLUMNS))
    found: dict[tuple[str, str], dict[str, str]] = {}
    what = ""
    for row in cells[begin + 1 :]:
        if len(row) != len(COLUMNS) + 2:
            break
        what = row[0] or what
        found[what, row[1]] = dict(zip(COLUMNS, row[2:], strict=True))
    return found


async def test_the_attackers_waiting_request_makes_nothing_after_the_take_over(scene: Scene) -> None:
    """A request is let in before it waits for the account's lock, so it looks again when it has it."""
    await opened_in_the_victims_name(scene)
    accounts = scene.harness.service.accounts
    waiting = [
        await accounts.sessions.caller(credential_of(scene.key, None)),
        await accounts.sessions.caller(credential_of(None, scene.session)),
    ]
    await takes_over(scene)
    before = scene.harness.all_rows()

    for caller in waiting:
        with pytest.raises(Exception, match="revoked or expired"):
            await accounts.password_reset.change(caller, HIS)
        with pytest.raises(Exception, match="revoked or expired"):
            await accounts.api_keys.create(caller, "again")
    assert scene.harness.all_rows() == before


async def test_a_link_works_once_and_for_a_week_and_opening_it_changes_nothing(scene: Scene) -> None:
    await opened_in_the_victims_name(scene)
    path, token = await scene.link()
    before = scene.harness.all_rows()
    for _ in range(3):
        page = await scene.harness.get(path, token=token)
        assert page.status_code == 200
        assert (page.headers["cache-control"], page.headers["referrer-policy"]) == ("no-store", "no-referrer")
    assert scene.harness.all_rows() == before
    assert token not in str(before), "what is stored is a digest"

    [attackers] = before["known_clients"]
    async with scene.harness.database.transaction() as connection:
        await known_clients.remember(connection, attackers["user_id"], ELSEWHERE, scene.harness.now, has_signed_in=True)
    await takes_over(scene)
    known = [row["address"] for row in scene.harness.all_rows()["known_clients"]]
    assert known == [attackers["address"]], "the victim's, while guesses from elsewhere are slowed down"
    for choice in ("take-over", "keep", "delete", "leave"):
        data = {"token": token, "choice": choice, "password": HIS, "sure": "yes"}
        assert (await scene.harness.client.post(path, data=data)).status_code == 400
    assert (await scene.post("/v1/login", email=VICTIM, password=HERS)).status_code == 200

    await scene.harness.sign_up("late@hospital.example", HIS)
    path, token = await scene.link("late@hospital.example")
    scene.harness.clock.move(7 * 24 * 3600)
    assert (await scene.harness.get(path, token=token)).status_code == 400


async def test_an_address_that_is_not_proven_gets_five_such_mails_a_day_whoever_causes_them(scene: Scene) -> None:
    for number in range(8):
        answer = await scene.post("/v1/trial", email=VICTIM, password=HIS if number % 2 else HERS)
        assert answer.status_code in (200, 400)
        if number == 3:
            opened = await scene.post("/v1/trial", email=VICTIM, password=HERS)
            await scene.post("/v1/account/delete", opened.json()["session"], password=HERS)
    await scene.harness.finish_background_work()
    assert [mail.to for mail in scene.harness.mail.mails] == [VICTIM] * 5

    for hour in range(8):
        scene.harness.clock.move(3601 if hour else 0)
        await scene.post("/v1/password/forgot", email=VICTIM)
        await scene.harness.finish_background_work()
    resets = [mail for mail in scene.harness.mail.mails if "/password/reset" in mail.text]
    assert len(resets) == 5


async def _adds_and_removes_members(scene: Scene, session: str) -> None:
    for number in range(25):
        answer = await scene.post("/v1/users", session, email=f"n{number}@victims.example", password=HIS)
        user = answer.json()["users"][-1]["id"]
        await scene.harness.client.delete(f"/v1/users/{user}", headers=auth_headers(session))
    await scene.harness.finish_background_work()


async def test_one_account_causes_twenty_such_mails_a_day(scene: Scene) -> None:
    opened = await scene.harness.sign_up(ATTACKER, HIS)
    await scene.harness.finish_background_work()
    mailed = len(scene.harness.mail.mails)
    await scene.harness.prove_address(opened)
    await _adds_and_removes_members(scene, opened.session)

    to_others = [mail for mail in scene.harness.mail.mails if mail.to != ATTACKER]
    assert mailed + len(to_others) == 20


async def test_an_account_of_nobody_known_mails_three_others_a_day_and_its_owner(scene: Scene) -> None:
    opened = await scene.harness.sign_up(VICTIM, HIS)
    await _adds_and_removes_members(scene, opened.session)
    assert (await scene.post("/v1/trial", email=VICTIM, password=HERS)).status_code == 400
    await scene.harness.finish_background_work()

    mailed = [mail.to for mail in scene.harness.mail.mails]
    assert mailed == [VICTIM, *(f"n{number}@victims.example" for number in range(3)), VICTIM]
    scene.harness.clock.move(24 * 3600)
    await _adds_and_removes_members(scene, opened.session)
    assert len(scene.harness.mail.mails) == len(mailed) + 3


async def test_a_mail_to_a_stranger_holds_nothing_that_the_attacker_chose(scene: Scene) -> None:
    opened = await scene.post("/v1/trial", name="Win at http://evil.example", email=ATTACKER, password=HIS)
    await scene.post("/v1/users", opened.json()["session"], email=VICTIM, password=HIS)
    await scene.harness.finish_background_work()

    [mail] = [mail for mail in scene.harness.mail.mails if mail.to == VICTIM]
    assert "evil" not in mail.subject + mail.text
    path, token = await scene.link()
    page = await scene.harness.get(path, token=token)
    assert "Win at http://evil.example" in page.text
    assert '<a href="http://evil' not in page.text


async def test_whoever_uses_up_the_mails_of_a_day_uses_up_none_of_their_links(scene: Scene) -> None:
    """Accounts that were deleted take their users with them; a link stands for the mailbox, not for one of them."""
    for _ in range(6):
        opened = await scene.harness.sign_up(VICTIM, HIS)
        await scene.post("/v1/password/forgot", email=VICTIM)
        await scene.harness.finish_background_work()
        assert (await scene.post("/v1/account/delete", opened.session, password=HIS)).status_code == 200
    mails = len(scene.harness.mail.mails)
    await opened_in_the_victims_name(scene)
    await scene.harness.finish_background_work()
    assert not [mail for mail in scene.harness.mail.mails[mails:] if mail.to == VICTIM], "no mail goes any more today"
    assert VICTIM not in str(scene.harness.all_rows()["confirmation_tokens"])

    mailed = [mail.text for mail in scene.harness.mail.mails if mail.to == VICTIM and "/account/confirm" in mail.text]
    tokens = [link[2] for link in map(LINK.search, mailed) if link is not None]
    answers = [
        await scene.harness.client.post(
            "/account/confirm", data={"token": token, "choice": "take-over", "password": HERS}
        )
        for token in tokens
    ]

    assert [answer.status_code for answer in answers] == [200, 400, 400, 400, 400]
    assert (await scene.row())["the victim signs in as"] == "owner of this account"


async def test_spellings_of_one_mailbox_share_its_mails(scene: Scene) -> None:
    for number in range(8):
        await scene.harness.sign_up(f"vic.tim+{number}@hospital.example", HIS)
    await scene.harness.sign_up("somebody.else@hospital.example", HIS)
    await scene.harness.finish_background_work()

    assert len(scene.harness.mail.mails) == 5 + 1


async def test_health_says_whether_addresses_are_proven(scene: Scene) -> None:
    with_mail = (await scene.harness.get("/health")).json()["addresses"]
    accounts = scene.harness.service.accounts
    accounts.confirmations._mailer = NoMailer()
    without = (await scene.harness.get("/health")).json()["addresses"]
    opened = await scene.harness.sign_up(VICTIM, HIS)

    assert (with_mail, without) == ("confirmed-by-mail", "not-proven")
    assert opened.answer["users"][0]["confirmed"] is False
    assert scene.harness.all_rows()["confirmation_tokens"] == []
    assert scene.harness.all_rows()["mail_counts"] == []
