"""Signatures, checked by another implementation and by values that were worked out outside of this program."""

import hashlib
import hmac
import re

from hypothesis import given
from hypothesis import strategies as st

from registerwatch.notifications.channels.webhook_signature import headers, new_secret, signature, standard_signature
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


def test_the_headers_are_those_of_the_contract_with_the_services_word_and_those_of_standard_webhooks() -> None:
    new, old = new_secret(), new_secret()

    sent = headers("Acme", "whd_1", "watch.changed", b"{}", [new, old], 7)

    assert sent == {
        "Content-Type": "application/json",
        "X-Acme-Timestamp": "7",
        "X-Acme-Signature": f"{signature(new, 7, b'{}')} {signature(old, 7, b'{}')}",
        "X-Acme-Event": "watch.changed",
        "X-Acme-Delivery": "whd_1",
        "webhook-id": "whd_1",
        "webhook-timestamp": "7",
        "webhook-signature": " ".join(standard_signature(each, "whd_1", 7, b"{}") for each in (new, old)),
    }


def test_the_signature_of_standard_webhooks_is_made_with_the_bytes_that_the_secret_stands_for() -> None:
    # key=$(base64 -d | xxd -p -c 64); printf 'whd_1.1800000000.{}' | openssl dgst -sha256 -mac HMAC -macopt hexkey:$key
    expected = "v1,fdgFbyqU02x7jIXG+WMu9LRrJ4G4Phd/i3khm5VrEOY="
    assert standard_signature("whsec_" + "MfKQ9r8G" * 5 + "qYA=", "whd_1", 1_800_000_000, b"{}") == expected


def test_secrets_and_ids_say_what_they_are_and_never_come_again() -> None:
    assert len({new_secret() for _ in range(100)} | {new_delivery_id() for _ in range(100)}) == 200
    assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", new_secret())
    assert re.fullmatch(r"whd_[A-Za-z0-9_-]{24}", new_delivery_id())
