"""Webhook secrets in the database: encrypted where there is a key, rotated, never lost, and a wrong key is told."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from registerwatch.all_tables import SEALED
from registerwatch.errors import ConfigurationError, SecretUnreadable
from registerwatch.notifications.channels.webhook_signature import signature
from registerwatch.platform.db import backup, sealed_columns
from registerwatch.platform.leases import LEASE_SECONDS
from registerwatch.platform.secret_cipher import SecretCipher, key_id_of
from registerwatch.settings import load_settings
from tests.notifications.steps import queue_change
from tests.support.harness import PASSWORD, WEBHOOK_URL, ServiceHarness, auth_headers, running_harness

OLD, NEW = (base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2))
OTHER_URL = "https://hooks.acme.example/other"


class Restarts:
    """One database that is served again and again, with the key that a test says."""

    def __init__(self, database_url: str, folder: Path) -> None:
        self._database_url, self._folder = database_url, folder

    @asynccontextmanager
    async def served(self, key: str | None) -> AsyncIterator[ServiceHarness]:
        options: dict[str, Any] = {} if key is None else {"secrets_key": key}
        async with running_harness(self._database_url, self._folder, **options) as harness:
            yield harness


@pytest.fixture
def restarts(database_url: str, tmp_path: Path) -> Restarts:
    return Restarts(database_url, tmp_path)


async def account_with_webhooks(harness: ServiceHarness) -> tuple[str, list[str]]:
    """The API key of a new account, and the secrets of its three webhooks, of which one was changed."""
    owner = await harness.sign_up()
    await harness.post("/v1/webhook", owner.api_key, url=WEBHOOK_URL)
    for number in range(2):
        await harness.post("/v1/webhooks", owner.api_key, url=f"{OTHER_URL}/{number}")
    [first, *_] = await shown(harness, owner.api_key)
    webhooks = (await harness.client.get("/v1/webhooks", headers=auth_headers(owner.api_key))).json()["webhooks"]
    await harness.post(f"/v1/webhooks/{webhooks[0]['id']}/rotate", owner.api_key)
    return owner.api_key, [first, *await shown(harness, owner.api_key)]


async def shown(harness: ServiceHarness, key: str) -> list[str]:
    """The secrets that the owner is shown."""
    answer = await harness.client.get("/v1/webhooks", headers=auth_headers(key))
    account = await harness.client.get("/v1/me", headers=auth_headers(key))
    assert answer.status_code == account.status_code == 200
    secrets = [each["secret"] for each in answer.json()["webhooks"]]
    assert account.json()["webhook_secret"] == secrets[0]
    return secrets


def stored(harness: ServiceHarness) -> list[str]:
    """Every secret as it is stored."""
    rows = harness.all_rows()["webhooks"]
    return [secret for row in rows for secret in (row["secret"], row["old_secret"]) if secret is not None]


async def test_with_a_key_the_database_holds_no_secret_in_clear_and_owners_and_receivers_see_no_difference(
    restarts: Restarts,
) -> None:
    async with restarts.served(NEW) as harness:
        key, secrets = await account_with_webhooks(harness)
        await harness.post("/v1/webhook/test", key)

        [sent] = harness.receivers.requests
        headers = {name.lower(): value for name, value in sent.headers.items()}
        at = int(headers["x-service-timestamp"])
        expected = [signature(secrets[1], at, sent.content), signature(secrets[0], at, sent.content)]
        assert headers["x-service-signature"].split() == expected
        assert all(each.startswith("whsec_") for each in secrets)
        assert len(stored(harness)) == 4
        everything = str(harness.all_rows())
        assert not any(secret in everything for secret in secrets)


async def test_answers_that_are_kept_for_an_idempotency_key_hold_no_secret_in_clear_either(restarts: Restarts) -> None:
    async with restarts.served(NEW) as harness:
        owner = await harness.sign_up()
        headers = {**auth_headers(owner.api_key), "Idempotency-Key": "once"}
        first, again = [
            await harness.client.post("/v1/webhook", json={"url": WEBHOOK_URL}, headers=headers) for _ in range(2)
        ]

        secret = first.json()["webhook_secret"]
        assert again.json() == first.json()
        assert again.headers["idempotent-replayed"] == "true"
        assert secret not in str(harness.all_rows())


async def test_secrets_of_before_are_encrypted_at_the_first_start_with_a_key(restarts: Restarts) -> None:
    async with restarts.served(None) as harness:
        key, secrets = await account_with_webhooks(harness)
        assert set(secrets) == set(stored(harness))

    async with restarts.served(NEW) as harness:
        assert not set(secrets) & set(stored(harness))
        assert await shown(harness, key) == secrets[1:]
        after = stored(harness)
    async with restarts.served(NEW) as harness:
        assert stored(harness) == after, "nothing is encrypted twice"


async def test_a_new_key_with_the_old_one_behind_it_takes_over(restarts: Restarts) -> None:
    async with restarts.served(OLD) as harness:
        key, secrets = await account_with_webhooks(harness)
        before = {key_id_of(each) for each in stored(harness)}
    async with restarts.served(f"{NEW}, {OLD}") as harness:
        assert await shown(harness, key) == secrets[1:]
    async with restarts.served(NEW) as harness:
        assert await shown(harness, key) == secrets[1:]
        assert not before & {key_id_of(each) for each in stored(harness)}


@pytest.mark.parametrize("key", [None, NEW])
async def test_another_key_or_none_is_told_at_the_start(restarts: Restarts, key: str | None) -> None:
    async with restarts.served(OLD) as harness:
        await account_with_webhooks(harness)
        [first, *_] = stored(harness)

    missing = f"under the key {key_id_of(first)}, which REGISTERWATCH_SECRETS_KEY does not have"
    with pytest.raises(ConfigurationError, match=missing) as told:
        async with restarts.served(key):
            raise AssertionError("it started")
    assert not any(each in str(told.value) for each in (OLD, NEW))


async def test_two_processes_that_encrypt_at_once_lose_nothing(restarts: Restarts) -> None:
    async with restarts.served(None) as harness:
        key, secrets = await account_with_webhooks(harness)

    async with restarts.served(NEW) as one:
        async with one.database.transaction() as connection:
            await connection.execute(text("UPDATE webhooks SET secret = 'whsec_plain' WHERE is_first"))
        cipher = SecretCipher(load_settings(secrets_key=NEW).secrets_keys)
        await asyncio.gather(*(sealed_columns.reseal(one.database, cipher, SEALED) for _ in range(3)))
        assert await shown(one, key) == ["whsec_plain", *secrets[2:]]
        assert "whsec_plain" not in str(one.all_rows())


async def test_encrypting_that_is_broken_off_goes_on_at_the_next_start(
    restarts: Restarts, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with restarts.served(None) as harness:
        key, secrets = await account_with_webhooks(harness)
        async with harness.database.transaction() as connection:  # as it is where the process was killed in between
            cipher = SecretCipher(load_settings(secrets_key=NEW).secrets_keys)
            row = next(each for each in harness.all_rows()["webhooks"] if each["is_first"])
            sealed = cipher.sealed(row["secret"], f"webhook of account {row['account_id']}")
            await connection.execute(text("UPDATE webhooks SET secret = :new WHERE is_first"), {"new": sealed})
    monkeypatch.setattr(sealed_columns, "ROWS_AT_ONCE", 1)

    async with restarts.served(NEW) as harness:
        assert await shown(harness, key) == secrets[1:]
        assert not set(secrets) & set(stored(harness))


async def test_a_secret_that_is_copied_to_another_account_is_not_read_there(restarts: Restarts) -> None:
    async with restarts.served(NEW) as harness:
        await account_with_webhooks(harness)
        thief = await harness.sign_up("thief@other.example", PASSWORD)
        await harness.post("/v1/webhook", thief.api_key, url=WEBHOOK_URL)
        async with harness.database.transaction() as connection:
            of_other = "(SELECT secret FROM webhooks WHERE account_id = 1 AND is_first)"
            await connection.execute(text(f"UPDATE webhooks SET secret = {of_other} WHERE account_id = 2"))

        with capture_logs() as logged:
            answer = await harness.client.get("/v1/me", headers=auth_headers(thief.api_key))

    assert (answer.status_code, answer.json()["code"]) == (503, "secret-unreadable")
    assert "secret cannot be read" in str(logged)


async def test_a_process_without_the_key_leaves_a_delivery_to_one_that_has_it(restarts: Restarts) -> None:
    """As while the key is set on one node after the other."""
    async with restarts.served(None) as without:
        caller, target = await without.owner_with_webhook()
        async with restarts.served(NEW) as with_key:
            with pytest.raises(SecretUnreadable):
                await without.webhooks.test(caller, target.id)
            result = await with_key.webhooks.test(caller, target.id)

    assert result.is_accepted
    assert not without.receivers.requests


async def test_a_change_that_a_process_without_the_key_has_claimed_is_delivered_by_one_that_has_it(
    restarts: Restarts,
) -> None:
    async with restarts.served(None) as without:
        caller, _ = await without.owner_with_webhook()
        async with restarts.served(NEW) as with_key:
            await queue_change(without, caller)
            (claimed,) = await without.deliveries.claim()
            with pytest.raises(SecretUnreadable):
                await without.deliveries.deliver(claimed)
            with_key.clock.move(LEASE_SECONDS)

            assert await with_key.deliver_due() == 1

    assert len(with_key.receivers.requests) == 1


async def test_without_a_key_the_log_says_once_that_secrets_are_in_clear(restarts: Restarts) -> None:
    async with restarts.served(None) as harness:
        await account_with_webhooks(harness)
    with capture_logs() as logged:
        async with restarts.served(None):
            pass
    assert [each["event"] for each in logged].count(sealed_columns.IN_CLEAR) == 1


@pytest.mark.parametrize("key", ["", "short", "x" * 44, f"{NEW},", f"{NEW},{NEW}", NEW[:-4], f"{NEW}{NEW}", "é" * 44])
def test_what_is_no_key_stops_the_start_and_is_not_repeated(key: str) -> None:
    if not key:
        assert load_settings(secrets_key=None).secrets_keys == ()
        return
    with pytest.raises(ConfigurationError, match=r"REGISTERWATCH_SECRETS_KEY: .*32 random bytes") as told:
        load_settings(secrets_key=key)
    assert key not in str(told.value)


def test_keys_may_be_written_in_either_alphabet_of_base64() -> None:
    key = bytes(range(224, 256))
    for text_of_key in (base64.b64encode(key).decode(), base64.urlsafe_b64encode(key).decode()):
        assert load_settings(secrets_key=f" {text_of_key} ").secrets_keys == (key,)


def test_a_stored_value_that_is_changed_anywhere_is_refused() -> None:
    cipher = SecretCipher([b"k" * 32])
    sealed = cipher.sealed("whsec_secret", "here")
    assert cipher.opened(sealed, "here") == "whsec_secret"
    assert sealed != cipher.sealed("whsec_secret", "here")
    head = sealed.rindex(":") + 1
    other = "B" if sealed[head] == "A" else "A"
    for broken in (sealed[:-6], sealed[:head], sealed[:head] + other + sealed[head + 1 :], f"{sealed}AAAA"):
        with pytest.raises(SecretUnreadable):
            cipher.opened(broken, "here")
    with pytest.raises(SecretUnreadable):
        cipher.opened(sealed, "elsewhere")


def test_without_keys_values_stay_as_they_are() -> None:
    cipher = SecretCipher()
    assert cipher.sealed("whsec_secret", "here") == cipher.opened("whsec_secret", "here") == "whsec_secret"
    assert not cipher.is_outdated("whsec_secret")
    assert SecretCipher([b"k" * 32]).sealed("", "here") == ""


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_backup_says_how_many_secrets_it_holds_in_clear(restarts: Restarts, tmp_path: Path) -> None:
    for number, key, expected in ((1, None, (0, 3)), (2, NEW, (3, 0))):
        async with restarts.served(key) as harness:
            if key is None:
                _, secrets = await account_with_webhooks(harness)
            assert harness.database.sqlite_path is not None
            backup.back_up(harness.database.sqlite_path, tmp_path / f"{number}.db", lambda _done, _all: None)
        assert backup.secrets_in(tmp_path / f"{number}.db") == expected

    content = (tmp_path / "2.db").read_bytes()
    assert not any(secret.encode() in content for secret in secrets), "not even in what SQLite has freed"
