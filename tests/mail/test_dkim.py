"""Signatures of mails, verified by another implementation with the public key that DNS would give."""

from base64 import b64encode
from functools import partial

import dkim
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.errors import ConfigurationError
from registerwatch.mail.dkim import DkimSigner, dkim_signer_of
from registerwatch.mail.mailer import Mail, mailer_of
from registerwatch.mail.message import Message
from registerwatch.settings import Settings, load_settings
from tests.support.mailbox import mailbox

KEY = rsa.generate_private_key(65537, 2048)
PEM = KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
SENDER = "Registerwatch <service@example.org>"
SIGNING = {"mail_from": SENDER, "smtp_url": "smtp://127.0.0.1:1", "dkim_key": PEM, "dkim_selector": "rw2026"}


def text_record(asked: list[str], name: bytes, timeout: float = 5) -> bytes:
    """What DNS has under a name; it notes what was asked."""
    asked.append(name.decode())
    public = KEY.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return b"v=DKIM1; k=rsa; p=" + b64encode(public)


def verified_by(content: bytes) -> str | None:
    """Under which name the key of a mail was looked up, None where its signature is wrong."""
    asked: list[str] = []
    is_right = dkim.verify(content, dnsfunc=partial(text_record, asked))
    return asked[-1] if is_right else None


async def test_every_mail_is_signed_as_it_arrives() -> None:
    texts = ("Hello\n", "Grüße  aus\tBerlin \n\n\nEnde\n\n\n", f"A long link: https://example.org/{'x' * 900}\n", "")
    with mailbox() as box:
        mailer = mailer_of(Settings.model_validate({**SIGNING, "smtp_url": box.address}))
        for text in texts:
            await mailer.send(Mail("bob@example.org", "Trocar ü: on the market → off the market" * 3, text))

    assert [verified_by(each.content) for each in box.mails] == ["rw2026._domainkey.example.org."] * len(texts)
    [names] = {_tag(each.content, b"h") for each in box.mails}
    assert {b"from", b"to", b"subject", b"date", b"message-id", b"content-type"} <= set(names.split(b":"))
    assert names.split(b":").count(b"from") == 2


async def test_a_mail_that_somebody_changed_does_not_verify() -> None:
    with mailbox() as box:
        settings = Settings.model_validate({**SIGNING, "smtp_url": box.address, "dkim_domain": "mail.example.org"})
        await mailer_of(settings).send(Mail("bob@example.org", "Hello", "Hello\n"))
    [received] = box.mails

    assert verified_by(received.content) == "rw2026._domainkey.mail.example.org."
    for old, new in (
        (b"Subject: Hello", b"Subject: Other"),
        (b"\r\nHello", b"\r\nOther"),
        (b"To: bob@", b"To: eve@"),
        (b"From: Registerwatch", b"From: Else <else@example.org>\r\nFrom: Registerwatch"),
    ):
        assert old in received.content
        assert verified_by(received.content.replace(old, new)) is None


SIGNER = DkimSigner(KEY, domain="example.org", selector="s")
HEADERS = ("List-Unsubscribe", "List-Unsubscribe-Post", "List-Id", "References", "X-Other")
SIGNED_AT = 1_700_000_000  # not later than the clock of this machine, by which signatures are judged
LINES = st.lists(st.text("ab \t=.", max_size=8))


@given(
    st.lists(st.tuples(st.sampled_from(HEADERS), st.lists(st.text("ab \t<>", min_size=1, max_size=9))), max_size=9),
    LINES,
)
def test_any_spaces_and_folded_or_repeated_headers_verify(
    headers: list[tuple[str, list[str]]], lines: list[str]
) -> None:
    folded = "".join(
        f"{name}: x{''.join(f'{chr(13)}{chr(10)} x{each}' for each in parts)}\r\n" for name, parts in headers
    )
    content = f"From: a@example.org\r\n{folded}To: b@example.org\r\n\r\n" + "".join(f"{line}\r\n" for line in lines)
    message = Message("a@example.org", "b@example.org", content.encode(), needs_utf8=False)

    assert verified_by(SIGNER.signed(message, SIGNED_AT).content) is not None


def test_without_a_key_nothing_is_signed() -> None:
    assert dkim_signer_of(Settings(mail_from=SENDER)) is None


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"dkim_key": "no key"}, "REGISTERWATCH_DKIM_KEY: .*RSA private key"),
        ({"dkim_key": PEM.replace("M", "N")}, "REGISTERWATCH_DKIM_KEY: .*RSA private key"),
        ({"dkim_selector": ""}, "REGISTERWATCH_DKIM_SELECTOR: .*needed with REGISTERWATCH_DKIM_KEY"),
        ({"dkim_selector": "a b"}, "REGISTERWATCH_DKIM_SELECTOR: .*name in DNS"),
        ({"dkim_domain": "example.org; d=other.org"}, "REGISTERWATCH_DKIM_DOMAIN: .*name in DNS"),
    ],
)
def test_settings_that_cannot_sign_stop_the_start(changed: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told) as refusal:
        load_settings(**{**SIGNING, **changed})
    assert "PRIVATE KEY-" not in str(refusal.value)


def _tag(content: bytes, name: bytes) -> bytes:
    """A tag of a mail's signature, without the spaces of its folds."""
    value = content.partition(b" " + name + b"=")[2].partition(b";")[0]
    return b"".join(value.split())
