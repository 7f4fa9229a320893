"""A company's life over REST, and that no secret of it is kept, logged, shown or described anywhere."""

import io
import logging
import re
import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest
import structlog
from pydantic import SecretStr
from sqlalchemy import text

from registerwatch.accounts.sessions.credentials import credential_of, new_key, new_session
from registerwatch.app import app_over
from registerwatch.bootstrap import build_service
from registerwatch.platform import logs
from registerwatch.settings import Settings
from tests.support.fakes import quick_passwords
from tests.support.harness import ServiceHarness, ServiceStarter, auth_headers
from tests.support.receiver import Receiver, answer, receiver
from tests.support.terminal import logs_as_they_are

OWNER, MEMBER = "owner@acme.example", "member@acme.example"
UNREACHABLE = "postgresql://nobody:a-database-password@127.0.0.1:9/none"


@pytest.fixture(params=["text", "json"])
def logged(request: pytest.FixtureRequest) -> Iterator[io.StringIO]:
    """All that is logged, by us and by libraries, as the product writes it, down to the level of debugging."""
    log_format: Literal["text", "json"] = request.param
    written, root = io.StringIO(), logging.getLogger()
    with logs_as_they_are():
        others = root.handlers[:]
        logs.set_up(log_format)
        kept = logging.StreamHandler(written)
        kept.setFormatter(root.handlers[0].formatter)
        root.handlers[:] = [*others, kept]
        structlog.configure(
            wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG), cache_logger_on_first_use=False
        )
        for each in (root, *map(logging.getLogger, logs.NOISY)):
            each.setLevel(logging.DEBUG)
        yield written


class RecordedRequests:
    """Asks a service, and remembers every answer and every secret that was sent or told."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client
        self.secrets: set[str] = set()
        self.signing: set[str] = set()
        """Those of them that are kept as they are: who signs with a secret has to have it."""
        self.answers: list[httpx2.Response] = []

    def secret(self, value: str | None = None) -> str:
        """A secret that is like no other text, or the one that is given; remembered."""
        value = value or f"pass-{secrets.token_hex(12)}"
        self.secrets.add(value)
        return value

    async def ask(
        self, status: int, method: str, path: str, credential: str = "", content: bytes | None = None, **fields: object
    ) -> dict[str, Any]:
        """What the service answers, with this status."""
        headers = auth_headers(credential)
        if content is not None:
            headers["Content-Type"] = "application/json"
        body = fields if method == "POST" and content is None else None
        response = await self._client.request(method, path, headers=headers, json=body, content=content)
        assert response.status_code == status, (method, path, response.text)
        answer: dict[str, Any] = response.json()
        self.secrets |= told(response)
        self.signing |= {secret for secret in told(response) if secret.startswith("whsec_")}
        self.answers.append(response)
        return answer

    async def read(self, status: int, feed_address: str) -> None:
        """Fetch a feed as its readers do. Its address is a secret, which this test's own client must not log."""
        logger = logging.getLogger("httpx2")
        level = logger.level
        logger.setLevel(logging.WARNING)
        response = await self._client.get(feed_address)
        logger.setLevel(level)
        assert response.status_code == status, response.text
        self.answers.append(response)

    def blab(self) -> dict[str, set[str]]:
        """The secrets in answers that tell others than they say, by what was asked."""
        blabbing = {
            f"{answer.request.method} {answer.request.url}": found_in(
                f"{answer.text}{answer.headers}", self.secrets - told(answer)
            )
            for answer in self.answers
        }
        return {asked: found for asked, found in blabbing.items() if found}


class Journey(RecordedRequests):
    """The same on a harness, whose mails can be read."""

    def __init__(self, harness: ServiceHarness, box: Receiver) -> None:
        super().__init__(harness.client)
        self.harness = harness
        self.box = box

    async def mailed_token(self, email: str) -> str:
        """The token of the link in the last mail."""
        await self.ask(200, "POST", "/v1/password/forgot", email=email)
        await self.harness.finish_background_work()
        mail = self.harness.mail.mails[-1]
        found = re.search(r"\?token=(\S+)", mail.text)
        assert mail.to == email
        assert found
        return self.secret(found[1])

    async def prove_address(self, password: str) -> None:
        """Let the owner say, by the link in the mail, that they opened the account."""
        await self.harness.finish_background_work()
        found = re.search(r"/account/confirm\?token=(\S+)", self.harness.mail.mails[-1].text)
        assert found
        form = {"token": self.secret(found[1]), "choice": "keep", "password": password}
        logger = logging.getLogger("httpx2")
        level = logger.level
        logger.setLevel(logging.WARNING)
        assert (await self.harness.client.get("/account/confirm", params={"token": form["token"]})).status_code == 200
        logger.setLevel(level)
        assert (await self.harness.client.post("/account/confirm", data=form)).status_code == 200


def found_in(text: str, of: set[str]) -> set[str]:
    return {secret for secret in of if secret in text}


def told(response: httpx2.Response) -> set[str]:
    """The secrets that an answer tells because it says so."""
    if response.headers["content-type"] != "application/json":
        return set()
    answer: dict[str, Any] = response.json()
    webhooks = [*answer.get("webhooks", ()), *([answer["webhook"]] if "webhook" in answer else ())]
    named = {answer[name] for name in ("session", "api_key", "webhook_secret") if answer.get(name)}
    return named | {webhook["secret"] for webhook in webhooks} | tokens_of(answer.get("feed", {}))


def tokens_of(feed: dict[str, Any]) -> set[str]:
    """The one token in both addresses of a feed that was just made."""
    return {str(feed[name]).partition("?token=")[2] for name in ("events", "expiring") if name in feed}


@pytest.fixture
async def journey(start_service: ServiceStarter, logged: io.StringIO) -> AsyncIterator[Journey]:
    mail_server = {"smtp_url": "smtp://mailer:a-mail-password@mail.test:587", "mail_from": "service@example.org"}
    async with receiver() as box, start_service(background=True, webhooks_allow_private=True, **mail_server) as harness:
        journey = Journey(harness, box)
        journey.secret("a-mail-password")
        yield journey
        await harness.finish_background_work()


async def life(journey: Journey) -> tuple[str, str]:
    """A company signs up, works, forgets, revokes. Gives the owner's password and the key that works in the end."""
    ask = journey.ask
    first, second = journey.secret(), journey.secret()
    opened = await ask(200, "POST", "/v1/trial", name="Acme", email=OWNER, password=first)
    owner, first_key = opened["session"], opened["api_key"]
    await journey.prove_address(first)
    again = await ask(200, "POST", "/v1/trial", email=OWNER, password=first)
    assert (again["existing"], "api_key" in again) == (True, False)
    await ask(400, "POST", "/v1/trial", email=OWNER, password=journey.secret())
    key = (await ask(200, "POST", "/v1/keys", owner, label="ERP"))["api_key"]

    given = journey.secret()
    account = await ask(200, "POST", "/v1/users", key, email=MEMBER, password=given)
    assert account.pop("user_id") == account["users"][1]["id"]
    member = (await ask(200, "POST", "/v1/login", email=MEMBER, password=given))["session"]
    await member_tries(journey, member, account)
    await ask(200, "POST", "/v1/password", member, password=journey.secret())
    await ask(401, "POST", "/v1/login", email=MEMBER, password=given)

    await ask(401, "POST", "/v1/login", email=OWNER, password=journey.secret())
    token = await journey.mailed_token(OWNER)
    await ask(400, "POST", "/v1/password/reset", token=token, password=journey.secret("short-7"))
    await ask(200, "POST", "/v1/password/reset", token=token, password=second)
    await ask(400, "POST", "/v1/password/reset", token=token, password=journey.secret())
    await ask(401, "GET", "/v1/me", owner)
    owner = (await ask(200, "POST", "/v1/login", email=OWNER, password=second))["session"]

    await ask(200, "DELETE", f"/v1/keys/{account['keys'][0]['id']}", owner)
    await ask(401, "GET", "/v1/me", first_key)
    await journey.harness.finish_background_work()
    trail = (await ask(200, "GET", "/v1/audit", owner))["entries"]
    failed = [entry["subject"] for entry in trail if entry["action"] == "sign-in failed"]
    assert sorted(failed) == [f"{email} from 127.0.0.1" for email in sorted((MEMBER, OWNER, OWNER))]
    assert [entry["action"] for entry in reversed(trail) if entry["action"] != "sign-in failed"] == [
        "account opened",
        "address confirmed",
        "signed in",
        "key created",
        "user added",
        "signed in",
        "password changed",
        "password reset",
        "signed in",
        "key revoked",
    ]
    await ask(200, "POST", "/v1/logout", owner)
    await ask(401, "GET", "/v1/audit", owner)
    return second, key


async def member_tries(journey: Journey, member: str, account: dict[str, Any]) -> None:
    """A member reads the account and manages nothing of it."""
    seen = await journey.ask(200, "GET", "/v1/me", member)
    assert seen == {**account, "role": "member"}
    await journey.ask(403, "POST", "/v1/users", member, email="friend@acme.example", password=journey.secret())
    await journey.ask(403, "POST", "/v1/keys", member, label="mine")
    await journey.ask(403, "DELETE", f"/v1/users/{account['users'][0]['id']}", member)
    await journey.ask(403, "DELETE", f"/v1/keys/{account['keys'][0]['id']}", member)
    await journey.ask(403, "GET", "/v1/audit", member)
    await journey.ask(401, "POST", "/v1/account/delete", member, password=journey.secret())


async def connected(journey: Journey, key: str) -> str:
    """Changes go to a webhook and into a feed; gives the address of the feed."""
    ask, box = journey.ask, journey.box
    device = journey.harness.unique_devices(1)[0]
    await ask(200, "POST", "/v1/watches", key, subject=device.primary_di)
    saved = await ask(200, "POST", "/v1/webhook", key, url=box.url)
    webhook = f"/v1/webhooks/{saved['webhooks'][0]['id']}"
    await ask(200, "POST", f"{webhook}/rotate", key)
    feed = (await ask(200, "POST", "/v1/feeds", key))["feed"]

    journey.harness.world.change(device.uuid, reference="NEW-1")
    assert (await ask(200, "POST", "/v1/sync", key))["events"]
    [changed] = await box.wait_for(1)
    assert not found_in(repr(changed), journey.secrets)
    box.manner = answer(500)
    delivery = (await ask(200, "POST", f"{webhook}/test", key))["delivery"]
    box.manner = answer(200)
    await ask(200, "POST", f"{webhook}/deliveries/{delivery}/resend", key)
    await box.wait_for(5)
    for path in ("/v1/me", "/v1/webhooks", f"{webhook}/deliveries", "/v1/events", "/v1/feeds", "/v1/audit"):
        await ask(200, "GET", path, key)
    for address in (feed["events"], feed["expiring"]):
        await journey.read(200, address)
        await journey.read(401, f"{address}x")
    assert len(journey.signing) == 2, "the first secret and the one after it"
    return str(feed["events"])


async def mistakes(journey: Journey, key: str) -> None:
    """Secrets in wrong places, in wrong types, in bodies that are none."""
    for path in ("/v1/trial", "/v1/login", "/v1/password/reset", "/v1/password", "/v1/account/delete", "/v1/users"):
        for wrong in ({"a": journey.secret()}, [journey.secret()], {journey.secret(): 1}, 86753091234):
            await journey.ask(400, "POST", path, key, email=OWNER, token="x", password=wrong)
        await journey.ask(400, "POST", path, key, content=f'{{"password": "{journey.secret()}'.encode())
        await journey.ask(400, "POST", path, key, content=f'["{journey.secret()}"]'.encode())
        await journey.ask(400, "POST", path, key, content=f'"{journey.secret()}"'.encode())
        await journey.ask(400, "POST", path, key, passwort=journey.secret())
    await journey.ask(400, "POST", "/v1/trial", email=journey.secret(), password=journey.secret())
    await journey.ask(400, "POST", "/v1/users", key, email=journey.secret(), password=journey.secret())
    await journey.ask(400, "POST", "/v1/password/forgot", email=journey.secret())
    await journey.ask(400, "POST", "/v1/password/reset", token=[journey.secret()], password=journey.secret())
    await journey.ask(400, "POST", "/v1/keys", key, label={"password": journey.secret()})
    await journey.ask(400, "POST", "/v1/webhooks", key, url=f"https://someone:{journey.secret()}@hooks.acme.example/")
    await journey.ask(400, "POST", "/v1/webhook", key, url={"secret": journey.secret()})
    await journey.read(401, f"/v1/events.atom?token=ft_{journey.secret()}")
    for credential in (f"rw_{journey.secret()}", f"us_{journey.secret()}", journey.secret()):
        await journey.ask(401, "GET", "/v1/me", credential)
    journey.secrets.add("86753091234")


async def defects(journey: Journey, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception that nobody expects, at the moment when a password is looked at."""

    async def broken(*_arguments: object) -> None:
        raise RuntimeError("a defect")

    token = await journey.mailed_token(OWNER)
    with monkeypatch.context() as patched:
        for name in ("hashed", "is_right"):
            patched.setattr(journey.harness.service.accounts.passwords, name, broken)
        await journey.ask(500, "POST", "/v1/trial", email="late@acme.example", password=journey.secret())
        await journey.ask(500, "POST", "/v1/login", email=OWNER, password=journey.secret())
        await journey.ask(500, "POST", "/v1/password", key, password=journey.secret())
        await journey.ask(500, "POST", "/v1/password/reset", token=token, password=journey.secret())
        await journey.ask(500, "POST", "/v1/account/delete", key, password=journey.secret())


async def kept(harness: ServiceHarness) -> str:
    """All that is stored: the bytes of every file in the data folder, and PostgreSQL's tables as text."""
    folder: Path = harness.service.settings.data_dir
    files = [path.read_bytes().decode("latin-1") for path in sorted(folder.rglob("*")) if path.is_file()]
    if harness.database.kind == "sqlite":
        assert {path.name for path in folder.glob("*.db*")} >= {"registerwatch.db", "registerwatch.db-wal"}
        return "".join(files)
    async with harness.database.reading() as connection:
        named = await connection.execute(text("SELECT tablename FROM pg_tables WHERE schemaname = 'public'"))
        for table in named.scalars().all():
            rows = await connection.execute(text(f'SELECT each::text FROM "{table}" AS each'))
            files += rows.scalars().all()
    return "\n".join(files)


def without_statements(log: str) -> str:
    """What is logged but for SQLite's driver, whose debugging shows all that is stored as it is stored."""
    return "\n".join(line for line in log.splitlines() if not re.search(r" of (sqlite3\.|<.*ThreadedConnection)", line))


async def test_no_secret_of_a_companys_life_is_kept_logged_shown_or_described(
    journey: Journey, logged: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = journey.harness
    password, key = await life(journey)
    feed_address = await connected(journey, key)
    await mistakes(journey, key)
    await defects(journey, key, monkeypatch)
    caller = await harness.service.accounts.sessions.caller(credential_of(key, None))
    shown = repr((harness.service, harness.service.settings, harness.mail.mails, caller, credential_of(key, None)))
    stored = await kept(harness)
    assert OWNER in stored, "what is stored is what was looked at"
    await journey.ask(200, "POST", "/v1/account/delete", key, password=password)
    await journey.ask(401, "GET", "/v1/me", key)
    await journey.read(401, feed_address)

    assert len(journey.secrets) > 60
    assert found_in(stored, journey.secrets) == journey.signing
    assert not found_in(await kept(harness), journey.secrets - journey.signing)
    assert not found_in(shown, journey.secrets)
    assert not found_in((await harness.client.get("/openapi.json")).text, journey.secrets)
    assert not journey.blab()
    assert "a defect" in logged.getvalue(), "what is logged is what was looked at"
    assert not found_in(logged.getvalue(), journey.secrets - journey.signing)
    assert not found_in(without_statements(logged.getvalue()), journey.secrets)


@pytest.mark.parametrize("address", ["sqlite:////dev/null/all.db", UNREACHABLE], ids=["sqlite", "postgresql"])
async def test_a_database_out_of_reach_tells_no_secret(address: str, logged: io.StringIO, tmp_path: Path) -> None:
    service = build_service(Settings(data_dir=tmp_path, database_url=SecretStr(address)), passwords=quick_passwords())
    transport = httpx2.ASGITransport(app=app_over(service), raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url="http://service.test") as client:
        asking = RecordedRequests(client)
        asking.secret("a-database-password")
        session, key = asking.secret(new_session()), asking.secret(new_key())
        await asking.ask(503, "POST", "/v1/logout", session)
        await asking.ask(200, "POST", "/v1/password/forgot", email=OWNER)
        await service.accounts.password_reset.mails.settled()
        if service.database.kind == "sqlite":  # reads of PostgreSQL wait ten seconds for a connection
            await asking.ask(503, "GET", "/v1/me", key)
            await asking.ask(503, "POST", "/v1/login", email=OWNER, password=asking.secret())
            await asking.ask(503, "POST", "/v1/trial", email=OWNER, password=asking.secret())
            await asking.ask(503, "POST", "/v1/users", key, email=MEMBER, password=asking.secret())
            await asking.ask(503, "POST", "/v1/password/reset", token=asking.secret(), password=asking.secret())
        assert all(answer.headers["retry-after"] for answer in asking.answers if answer.status_code == 503)
        shown = repr(service)
    await service.close()

    assert not asking.blab()
    assert not found_in(shown, asking.secrets)
    assert "no reset link was mailed" in logged.getvalue()
    assert not found_in(logged.getvalue(), asking.secrets)
