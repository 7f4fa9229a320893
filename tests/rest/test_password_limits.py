"""What setting passwords may cost: nobody's sign-in waits for it, and one account does only so much of it."""

import asyncio
import threading
from collections.abc import AsyncIterator

import httpx2
import pytest
from argon2 import PasswordHasher, Type

from registerwatch.accounts.passwords.passwords import MAX_OF_ACCOUNT
from registerwatch.accounts.passwords.unproven_passwords import UNPROVEN_SECONDS
from tests.support.harness import EMAIL, PASSWORD, ServiceHarness, ServiceStarter, auth_headers

WAIT_SECONDS = 10.0
STRANGER = "stranger@other.example"
PER_MINUTE = 30


class HeldHasher(PasswordHasher):
    """Compares passwords at once; makes new hashes when it is let, one at a time."""

    def __init__(self) -> None:
        super().__init__(time_cost=1, memory_cost=8, parallelism=1, type=Type.ID)
        self.let = threading.Semaphore(0)
        self.is_held = False

    def hash(self, password: str | bytes, *, salt: bytes | None = None) -> str:
        if self.is_held and not self.let.acquire(timeout=WAIT_SECONDS):
            raise TimeoutError("nobody let it go on")
        return super().hash(password, salt=salt)

    def let_all(self) -> None:
        self.is_held = False
        self.let.release(1_000)


@pytest.fixture
def database_kind() -> str:
    """Hashing does not depend on the database."""
    return "sqlite"


@pytest.fixture
def hasher() -> HeldHasher:
    return HeldHasher()


@pytest.fixture
async def harness(start_service: ServiceStarter, hasher: HeldHasher) -> AsyncIterator[ServiceHarness]:
    async with start_service(hasher=hasher) as harness:
        yield harness
        hasher.let_all()


async def changing(harness: ServiceHarness, credential: str, number: int) -> list[asyncio.Task[httpx2.Response]]:
    """Requests that set a password, all under way."""
    asked = [harness.post("/v1/password", credential, password=f"{PASSWORD} {each}") for each in range(number)]
    tasks = [asyncio.create_task(each) for each in asked]
    for _ in range(200):
        await asyncio.sleep(0)
    return tasks


async def test_a_login_does_not_wait_for_the_passwords_that_another_account_sets(
    harness: ServiceHarness, hasher: HeldHasher
) -> None:
    attacker = await harness.sign_up()
    await harness.sign_up(STRANGER)
    await harness.sign_in(STRANGER)  # the first login of a process makes a hash, too
    hasher.is_held = True
    held = await changing(harness, attacker.api_key, 90)

    login = harness.post("/v1/login", email=STRANGER, password=PASSWORD)
    answer = await asyncio.wait_for(login, WAIT_SECONDS)

    assert answer.status_code == 200
    hasher.let_all()
    await asyncio.gather(*held)


@pytest.mark.parametrize("path", ["/v1/password", "/v1/users", "/v1/account/delete"])
async def test_more_passwords_of_one_account_at_once_are_refused_with_a_time_to_wait(
    harness: ServiceHarness, hasher: HeldHasher, path: str
) -> None:
    attacker, victim = await harness.sign_up(), await harness.sign_up(STRANGER)
    hasher.is_held = True
    held = await changing(harness, attacker.api_key, 90)

    refused = await asyncio.wait_for(
        harness.post(path, attacker.api_key, password=PASSWORD, **({"email": EMAIL} if "users" in path else {})),
        WAIT_SECONDS,
    )
    other = asyncio.create_task(harness.post("/v1/password", victim.api_key, password=PASSWORD))
    hasher.let_all()

    assert (refused.status_code, refused.json()["code"]) == (429, "rate-limited")
    assert int(refused.headers["retry-after"]) >= 1
    assert (await asyncio.wait_for(other, WAIT_SECONDS)).status_code == 200
    statuses = [answer.status_code for answer in await asyncio.gather(*held)]
    assert (statuses.count(200), statuses.count(429)) == (MAX_OF_ACCOUNT, 90 - MAX_OF_ACCOUNT)


async def test_accounts_that_set_passwords_take_turns(harness: ServiceHarness, hasher: HeldHasher) -> None:
    attacker, victim = await harness.sign_up(), await harness.sign_up(STRANGER)
    hasher.is_held = True
    held = await changing(harness, attacker.api_key, MAX_OF_ACCOUNT)
    [own] = await changing(harness, victim.api_key, 1)

    hasher.let.release(3)  # what is at work, one more of the attacker, whose turn it is, and the victim's
    answer = await asyncio.wait_for(own, WAIT_SECONDS)

    assert answer.status_code == 200
    assert sum(task.done() for task in held) <= 2
    hasher.let_all()
    await asyncio.gather(*held)


async def test_an_account_sets_so_many_passwords_a_minute_from_however_many_addresses(
    start_service: ServiceStarter,
) -> None:
    async with start_service(rate_limits=True, trusted_proxies="127.0.0.0/8") as harness:
        owner, other = await harness.sign_up(), await harness.sign_up(STRANGER)

        async def changed(credential: str, address: int) -> httpx2.Response:
            headers = {**auth_headers(credential), "X-Forwarded-For": f"198.51.100.{address}"}
            return await harness.client.post("/v1/password", json={"password": PASSWORD}, headers=headers)

        for number in range(PER_MINUTE):
            assert (await changed(owner.api_key, number)).status_code == 200
        refused = await changed(owner.api_key, 99)

        assert (refused.status_code, refused.json()["code"]) == (429, "rate-limited")
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert refused.headers["ratelimit-policy"] == f"{PER_MINUTE};w=60"
        assert (await changed(other.api_key, 99)).status_code == 200
        harness.clock.move(60)
        assert (await changed(owner.api_key, 1)).status_code == 200


async def test_what_a_member_asks_for_takes_nothing_from_the_owners(limited: ServiceHarness) -> None:
    owner = await limited.sign_up()
    await limited.post("/v1/users", owner.api_key, email="member@acme.example", password=PASSWORD)
    member = await limited.sign_in("member@acme.example")
    for _ in range(PER_MINUTE):
        assert (await limited.post("/v1/password", member, password=PASSWORD)).status_code == 200
        refused = await limited.post("/v1/users", member, email="x@acme.example", password=PASSWORD)
        assert refused.status_code == 403

    assert (await limited.post("/v1/password", member, password=PASSWORD)).status_code == 429
    assert (await limited.post("/v1/password", owner.api_key, password=PASSWORD)).status_code == 200


async def test_the_password_of_an_owner_is_guessed_ten_times_an_hour_from_however_many_addresses(
    start_service: ServiceStarter,
) -> None:
    async with start_service(rate_limits=True, trusted_proxies="127.0.0.0/8") as harness:
        owner = await harness.sign_up()

        async def guessed(address: int, password: str) -> int:
            headers = {**auth_headers(owner.api_key), "X-Forwarded-For": f"198.51.100.{address}"}
            body = {"password": password}
            return (await harness.client.post("/v1/account/delete", json=body, headers=headers)).status_code

        assert [await guessed(number, "a guess") for number in range(10)] == [401] * 10
        assert await guessed(11, PASSWORD) == 429
        harness.clock.move(3600)
        assert await guessed(11, PASSWORD) == 200


async def test_what_a_stolen_key_did_keeps_no_owner_from_stopping_it(start_service: ServiceStarter) -> None:
    async with start_service(rate_limits=True, trusted_proxies="127.0.0.0/8") as harness:
        owner = await harness.sign_up()
        harness.clock.move(60)

        async def asked(credential: str, address: int, method: str, path: str, **body: object) -> httpx2.Response:
            headers = {**auth_headers(credential), "X-Forwarded-For": f"198.51.100.{address}"}
            return await harness.client.request(method, path, json=body if method == "POST" else None, headers=headers)

        for number in range(500):
            assert (await asked(owner.api_key, number % 10, "DELETE", "/v1/keys/0")).status_code == 400
        for number in range(500):
            await asked(owner.api_key, number % 10, "POST", "/v1/keys")
            harness.clock.move(1)
        for number in range(PER_MINUTE + 1):
            await asked(owner.api_key, number, "POST", "/v1/users", email="no address", password=PASSWORD)
        guesses = [
            (await asked(owner.api_key, number, "POST", "/v1/account/delete", password="a guess")).status_code
            for number in range(11)
        ]
        assert guesses == [401] * 10 + [429]
        assert (await asked(owner.api_key, 99, "POST", "/v1/keys")).status_code == 429

        changed = await asked(owner.session, 50, "POST", "/v1/password", password=f"{PASSWORD} 2")
        account = (await asked(owner.session, 50, "GET", "/v1/me")).json()
        revoked = [await asked(owner.session, 50, "DELETE", f"/v1/keys/{key['id']}") for key in account["keys"]]
        made = await asked(owner.session, 50, "POST", "/v1/keys")

        assert {answer.status_code for answer in (changed, made, *revoked)} == {200}
        assert (await asked(owner.api_key, 50, "GET", "/v1/me")).status_code == 401
        deletions = []
        for _ in range(2):
            answer = await asked(owner.session, 50, "POST", "/v1/account/delete", password=f"{PASSWORD} 2")
            deletions.append(answer.status_code)
            harness.clock.move(UNPROVEN_SECONDS)
        assert deletions == [403, 200], "a password that a session set deletes nothing for a day"


async def test_a_key_that_has_used_up_its_changes_still_takes_access_away(limited: ServiceHarness) -> None:
    owner = await limited.sign_up()
    await limited.post("/v1/users", owner.api_key, email="member@acme.example", password=PASSWORD)
    for number in range(500):
        await limited.post("/v1/keys", owner.api_key)
        limited.clock.move(1 if number % 200 else 60)
    assert (await limited.post("/v1/keys", owner.api_key)).status_code == 429
    account = (await limited.client.get("/v1/me", headers=auth_headers(owner.session))).json()

    for path in (f"/v1/users/{account['users'][1]['id']}", "/v1/sessions", f"/v1/keys/{account['keys'][0]['id']}"):
        answer = await limited.client.delete(path, headers=auth_headers(owner.api_key))
        assert answer.status_code == 200
