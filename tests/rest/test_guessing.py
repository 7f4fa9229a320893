"""Guessing passwords: bounded for each user from however many addresses, and told; nobody is locked out by it."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import httpx2
import pytest
from structlog.testing import capture_logs

from registerwatch.accounts.sessions.failed_sign_ins import LOGGED_A_MINUTE
from registerwatch.accounts.sessions.known_clients import KNOWN_SECONDS, MAX_CLIENTS
from tests.support import redis
from tests.support.harness import (
    EMAIL,
    PASSWORD,
    ServiceHarness,
    ServiceStarter,
    auth_headers,
    running_harness,
)

HOUR = 3600
PER_HOUR, PER_DAY = 30, 100
HOME, OFFICE, ATTACKER = "203.0.113.5", "203.0.113.80", "198.51.100.{}"
TOKEN = re.compile(r"token=([\w.-]{43,})$", re.MULTILINE)
PROXY = "127.0.0.0/8"


@pytest.fixture
async def harness(start_service: ServiceStarter) -> AsyncIterator[ServiceHarness]:
    async with start_service(rate_limits=True, trusted_proxies=PROXY) as harness:
        yield harness
        await harness.finish_background_work()


async def post(harness: ServiceHarness, path: str, address: str, **fields: object) -> httpx2.Response:
    """POST these fields from an address."""
    return await harness.client.post(path, json=fields, headers={"X-Forwarded-For": address})


async def login(harness: ServiceHarness, address: str, password: str = PASSWORD, email: str = EMAIL) -> int:
    return (await post(harness, "/v1/login", address, email=email, password=password)).status_code


async def sign_up(harness: ServiceHarness, address: str = HOME, email: str = EMAIL) -> str:
    """The API key of a new account."""
    answer = await post(harness, "/v1/trial", address, email=email, password=PASSWORD)
    return str(answer.json()["api_key"])


async def guess(harness: ServiceHarness, number: int, email: str = EMAIL, first: int = 0) -> list[int]:
    """How so many guesses are answered, each of which comes from an address of its own."""
    return [await login(harness, ATTACKER.format(first + each), "a guess", email) for each in range(number)]


async def trail(harness: ServiceHarness, key: str) -> list[dict[str, object]]:
    await harness.finish_background_work()
    answer = await harness.client.get("/v1/audit", headers=auth_headers(key))
    entries: list[dict[str, object]] = answer.json()["entries"]
    return entries


@pytest.mark.parametrize("email", [EMAIL, "nobody@acme.example"])
async def test_guesses_at_one_user_are_bounded_however_many_addresses_they_come_from(
    harness: ServiceHarness, email: str
) -> None:
    """And an address that nobody has is answered alike, so that this does not tell who has an account."""
    await sign_up(harness)

    answers = await guess(harness, PER_HOUR + 5 - (email == EMAIL), email)
    refused = await post(harness, "/v1/login", ATTACKER.format(200), email=email, password=PASSWORD)

    assert answers[:29] == [401] * 29, "the sign-up was counted, too"
    assert answers[-4:] == [429] * 4
    assert (refused.status_code, refused.json()["code"]) == (429, "rate-limited")
    assert 1 <= int(refused.headers["retry-after"]) <= HOUR
    assert refused.headers["ratelimit-policy"] == f"{PER_HOUR};w={HOUR}"
    harness.clock.move(HOUR)
    assert await login(harness, ATTACKER.format(201), "a guess", email) == 401


async def test_writing_an_address_in_another_way_brings_no_further_guesses(harness: ServiceHarness) -> None:
    await sign_up(harness)
    forms = (EMAIL, EMAIL.upper(), f" {EMAIL} ", EMAIL.replace("acme", "ACME"))

    answers = [
        await login(harness, ATTACKER.format(number), "a guess", forms[number % len(forms)]) for number in range(40)
    ]

    assert answers.count(401) == PER_HOUR - 1


async def test_sign_ups_with_a_known_address_are_guesses_too(harness: ServiceHarness) -> None:
    await sign_up(harness)
    fields = {"email": EMAIL, "password": "a guess"}

    answers = [(await post(harness, "/v1/trial", ATTACKER.format(each), **fields)).status_code for each in range(40)]

    assert (answers.count(400), answers.count(429)) == (PER_HOUR - 1, 11)
    assert await login(harness, ATTACKER.format(99), "a guess") == 429


async def test_one_address_alone_meets_its_own_limits_and_never_that_of_the_user(harness: ServiceHarness) -> None:
    await sign_up(harness)
    address = ATTACKER.format(1)
    fields = {"email": EMAIL, "password": "a guess"}

    trials = [(await post(harness, "/v1/trial", address, **fields)).status_code for _ in range(8)]
    logins = [await login(harness, address, "a guess") for _ in range(20)]

    assert (trials, logins) == ([400] * 8, [401] * 20)


async def test_a_user_signs_in_from_where_they_did_before_while_others_guess(harness: ServiceHarness) -> None:
    await sign_up(harness)
    assert await login(harness, OFFICE) == 200

    answers = await guess(harness, 2 * PER_HOUR)

    assert answers[-1] == 429
    assert [await login(harness, address) for address in (HOME, OFFICE)] == [200, 200]
    assert await login(harness, "192.0.2.99") == 429, "from elsewhere nobody gets in, whatever they know"


async def test_who_sets_a_password_by_a_mailed_link_signs_in_from_there_while_others_guess(
    harness: ServiceHarness,
) -> None:
    await sign_up(harness)
    await guess(harness, 2 * PER_HOUR)
    hotel = "192.0.2.99"
    assert await login(harness, hotel) == 429

    await post(harness, "/v1/password/forgot", hotel, email=EMAIL)
    await harness.finish_background_work()
    found = TOKEN.search(harness.mail.mails[-1].text)
    assert found
    answer = await post(harness, "/v1/password/reset", hotel, token=found[1], password="another password")

    assert answer.status_code == 200
    assert await login(harness, hotel, "another password") == 200


async def test_who_takes_an_account_back_signs_in_while_others_guess_and_who_opened_it_is_no_longer_known(
    harness: ServiceHarness,
) -> None:
    stranger, hotel = ATTACKER.format(250), "192.0.2.99"
    await sign_up(harness, stranger)
    await harness.finish_background_work()
    found = TOKEN.search(harness.mail.mails[-1].text)
    assert found
    await guess(harness, 2 * PER_HOUR)
    assert await login(harness, stranger, "a guess") == 401, "it is known, and only its own limit holds"

    fields = {"token": found[1], "choice": "take-over", "password": "the owner's own"}
    answer = await harness.client.post("/account/confirm", data=fields, headers={"X-Forwarded-For": hotel})

    assert answer.status_code == 200, answer.text
    assert await login(harness, stranger, "a guess") == 429
    assert await login(harness, hotel, "the owner's own") == 200


async def test_guesses_of_a_day_have_a_bound_too(harness: ServiceHarness) -> None:
    await sign_up(harness)
    wrong = 0
    for number in range(24):
        wrong += (await guess(harness, 10, first=number * 10)).count(401)
        harness.clock.move(HOUR - 1)

    assert wrong <= PER_DAY + 10
    assert await login(harness, HOME) == 200


async def test_a_client_is_forgotten_after_ninety_days_and_a_user_keeps_only_so_many(harness: ServiceHarness) -> None:
    await sign_up(harness)
    for number in range(MAX_CLIENTS + 5):
        harness.clock.move(HOUR)
        assert await login(harness, f"203.0.113.{100 + number}") == 200

    assert len(harness.all_rows()["known_clients"]) == MAX_CLIENTS
    harness.clock.move(KNOWN_SECONDS)
    await harness.service.accounts.pruner.prune()
    assert not harness.all_rows()["known_clients"]


async def test_a_client_of_one_user_is_not_one_of_another(harness: ServiceHarness) -> None:
    await sign_up(harness)
    await sign_up(harness, ATTACKER.format(7), "attacker@other.example")
    await guess(harness, 2 * PER_HOUR)

    assert await login(harness, ATTACKER.format(7), "a guess") == 429


async def test_a_failed_sign_in_is_in_the_trail_of_the_account_and_in_the_log(harness: ServiceHarness) -> None:
    key = await sign_up(harness)
    with capture_logs() as logged:
        await login(harness, ATTACKER.format(1), "a guess")
        await login(harness, ATTACKER.format(2), "a guess", "nobody@acme.example")

    first = (await trail(harness, key))[0]
    assert (first["actor"], first["action"], first["subject"]) == (
        "unknown",
        "sign-in failed",
        f"{EMAIL} from 198.51.100.1",
    )
    assert [(each["event"], each["client"], each["account"]) for each in logged] == [
        ("a sign-in failed", "198.51.100.1", 1),
        ("a sign-in failed", "198.51.100.2", None),
    ]
    assert not any(word in str(logged) for word in ("a guess", EMAIL, "nobody"))


async def test_a_flood_of_failed_sign_ins_is_told_in_a_few_lines(start_service: ServiceStarter) -> None:
    async with start_service() as harness:
        with capture_logs() as logged:
            for number in range(LOGGED_A_MINUTE + 40):
                await login(harness, ATTACKER.format(number), "a guess", f"nobody{number}@acme.example")
            harness.clock.move(60)
            await login(harness, ATTACKER.format(1), "a guess")

    logged = [each for each in logged if each["event"] == "a sign-in failed"]
    assert len(logged) == LOGGED_A_MINUTE + 1
    assert [each["unlogged_before"] for each in logged] == [0] * LOGGED_A_MINUTE + [40]


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_processes_that_share_redis_share_the_guesses(database_url: str, tmp_path: Path) -> None:
    with redis.server() as server:
        options: dict[str, Any] = {"rate_limits": True, "trusted_proxies": PROXY, "redis_url": server.url}
        async with (
            running_harness(database_url, tmp_path / "one", **options) as one,
            running_harness(database_url, tmp_path / "other", **options) as other,
            aclosing(one.app.state.limits),
            aclosing(other.app.state.limits),
        ):
            await sign_up(one)
            answers = [*await guess(one, 20), *await guess(other, 20, first=100)]
            await asyncio.gather(one.finish_background_work(), other.finish_background_work())

    assert (answers.count(401), answers.count(429)) == (PER_HOUR - 1, 11)
