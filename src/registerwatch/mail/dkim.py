"""Signs mails by DKIM (RFC 6376, rsa-sha256, relaxed/relaxed), where the mail server does not do so itself."""

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

from registerwatch.mail.message import Message, sender_of
from registerwatch.settings import Settings

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

SIGNED = frozenset(
    {
        *(b"from", b"reply-to", b"to", b"subject", b"date", b"message-id", b"in-reply-to", b"references"),
        *(b"mime-version", b"content-type", b"content-transfer-encoding", b"auto-submitted"),
        *(b"list-id", b"list-help", b"list-unsubscribe", b"list-unsubscribe-post"),
    }
)
"""Headers that the signature covers where a mail has them: all that a receiver shows or acts on."""
PER_LINE = 70
"""Base64 digits in one line of the header."""

_SPACES = re.compile(rb"[ \t]+")


class DkimSigner:
    """Signs mails as a domain whose public key is in DNS under `<selector>._domainkey.<domain>`."""

    def __init__(self, key: "RSAPrivateKey", *, domain: str, selector: str) -> None:
        self._key = key
        self.domain = domain
        self.selector = selector

    def signed(self, message: Message, at: float) -> Message:
        """The mail with its signature before everything else. `at` is unix seconds."""
        headers, body = _parts(message.content)
        covered = [each for each in headers if _name(each) in SIGNED]
        unsigned = self._header(covered, body, int(at))
        canonical = b"".join(_relaxed_header(each) + b"\r\n" for each in covered) + _relaxed_header(unsigned)
        header = unsigned + _folded(b64encode(self._sign(canonical)))
        return replace(message, content=header + b"\r\n" + message.content)

    def _header(self, covered: Sequence[bytes], body: bytes, at: int) -> bytes:
        """The header without its signature. It names `from` twice, so that no second one can be added."""
        names = b":".join([_name(each) for each in covered] + [b"from"])
        digest = b64encode(sha256(_relaxed_body(body)).digest()).decode()
        return (
            f"DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d={self.domain}; s={self.selector};\r\n"
            f"\tt={at}; h={_in_lines(names.decode())};\r\n"
            f"\tbh={digest};\r\n"
            "\tb="
        ).encode()

    def _sign(self, content: bytes) -> bytes:
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15  # takes a moment to load
        from cryptography.hazmat.primitives.hashes import SHA256

        return self._key.sign(content, PKCS1v15(), SHA256())


def dkim_signer_of(settings: Settings) -> DkimSigner | None:
    """The signer that the settings name; None where mails are not signed here."""
    if settings.dkim_key is None:
        return None
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    key = load_pem_private_key(settings.dkim_key.get_secret_value().encode(), None)
    assert isinstance(key, RSAPrivateKey), "the settings have checked it"
    domain = settings.dkim_domain or sender_of(settings.mail_from).domain
    return DkimSigner(key, domain=domain, selector=settings.dkim_selector)


def _parts(content: bytes) -> tuple[Sequence[bytes], bytes]:
    """The headers, from the last to the first as the signature names them, and the body."""
    head, _, body = content.partition(b"\r\n\r\n")
    return re.split(rb"\r\n(?![ \t])", head)[::-1], body


def _name(header: bytes) -> bytes:
    return header.partition(b":")[0].strip().lower()


def _relaxed_header(header: bytes) -> bytes:
    """A header in the form that is signed (RFC 6376, 3.4.2), without the end of its line."""
    value = header.partition(b":")[2].replace(b"\r\n", b"")
    return _name(header) + b":" + _SPACES.sub(b" ", value).strip()


def _relaxed_body(body: bytes) -> bytes:
    """The body in the form that is signed (RFC 6376, 3.4.4)."""
    lines = [_SPACES.sub(b" ", line).rstrip(b" ") for line in body.split(b"\r\n")]
    while lines and not lines[-1]:
        lines.pop()
    return b"".join(line + b"\r\n" for line in lines)


def _folded(signature: bytes) -> bytes:
    return b"\r\n\t".join(signature[at : at + PER_LINE] for at in range(0, len(signature), PER_LINE))


def _in_lines(names: str) -> str:
    """Names with colons, folded after a colon where a line would become long."""
    return "\r\n\t".join(_lines(names.split(":")))


def _lines(names: Sequence[str]) -> Iterator[str]:
    line = ""
    for number, name in enumerate(names, start=1):
        line += name + (":" if number < len(names) else "")
        if len(line) > PER_LINE - 30 and number < len(names):
            yield line
            line = ""
    yield line
