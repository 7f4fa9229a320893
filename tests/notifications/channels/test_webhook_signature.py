"""Signatures, checked by another implementation and by values that were worked out outside of this program."""

import base64
import hashlib
import hmac
import re

from hypothesis import given
from hypothesis import strategies as st

from registerwatch.notifications.channels.webhook_signature import headers, key_of, new_secret, signature
from registerwatch.notifications.models import new_delivery_id


def test_a_signature_is_what_openssl_says() -> None:
    # printf '1800000000.{"id":"whd_1"}' | openssl dgst -sha256 -hmac whsec_test
    expected = "5534dccf6b0662fc5490ea37e9d870a395a12fbd87faead0d0f5b0b103424c25"
    assert signature("whsec_test", 1_800_000_000, b'{"id":"whd_1"}') == f"sha256={expected}"


@given(st.text(), st.integers(0, 2**40), st.binary())
def test_a_signature_covers_the_time_a_dot_and_the_raw_body(secret: str, timestamp: int, body: bytes) -> None:
    signed = hmac.HMAC(secret.encode(), digestmod=hashlib.sha256)
    for part in (str(timestamp).encode(), b".", body):
        signed.update(part)
    assert signature(secret, timestamp, body) == "sha256=" + signed.hexdigest()


def test_the_headers_are_those_of_the_contract_with_the_services_word() -> None:
    assert headers("Acme", "whd_1", "watch.changed", b"{}", ["a", "b"], 7) == {
        "Content-Type": "application/json",
        "X-Acme-Timestamp": "7",
        "X-Acme-Signature": f"{signature('a', 7, b'{}')} {signature('b', 7, b'{}')}",
        "X-Acme-Event": "watch.changed",
        "X-Acme-Delivery": "whd_1",
    }


def test_the_headers_of_standard_webhooks_are_signed_with_the_bytes_that_the_secret_stands_for() -> None:
    secret, old_secret = "whsec_" + "MfKQ9r8G" * 5 + "qYA=", "whsec_" + "a-_b" * 10 + "abc"
    # key=$(base64 -d | xxd -p -c 64); printf 'whd_1.1800000000.{}' | openssl dgst -sha256 -mac HMAC -macopt hexkey:$key
    expected = "v1,fdgFbyqU02x7jIXG+WMu9LRrJ4G4Phd/i3khm5VrEOY="
    sent = headers("Service", "whd_1", "watch.changed", b"{}", [secret, old_secret], 1_800_000_000)
    of_old = headers("Service", "whd_1", "watch.changed", b"{}", [old_secret], 1_800_000_000)

    assert sent["X-Service-Signature"].endswith(" " + of_old["X-Service-Signature"])
    assert {name: value for name, value in sent.items() if name not in of_old} == {
        "webhook-id": "whd_1",
        "webhook-timestamp": "1800000000",
        "webhook-signature": expected,
    }
    both = headers("Service", "whd_1", "watch.changed", b"{}", [new_secret(), secret], 1_800_000_000)
    assert both["webhook-signature"].split(" ")[1:] == [expected]


@given(st.text(max_size=60) | st.binary(min_size=31, max_size=33).map(lambda key: base64.b64encode(key).decode()))
def test_only_the_base64_of_32_bytes_is_a_standard_secret(text: str) -> None:
    key = key_of("whsec_" + text)
    assert key is None or key == base64.b64decode(text)
    assert key is None or len(key) == 32
    assert (key is not None) == ("webhook-id" in headers("Service", "whd_1", "watch.test", b"", ["whsec_" + text], 1))


def test_secrets_and_ids_say_what_they_are_and_never_come_again() -> None:
    assert len({new_secret() for _ in range(100)} | {new_delivery_id() for _ in range(100)}) == 200
    assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", new_secret())
    assert re.fullmatch(r"whd_[A-Za-z0-9_-]{24}", new_delivery_id())
