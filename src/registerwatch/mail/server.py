"""The mail server and the encryption of the connection to it, read from the settings' URLs."""

import ipaddress
import re
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import unquote, urlsplit

SUBMISSION_PORT = 587
TLS_PORT = 465
NO_NAME = "[127.0.0.1]"
"""The EHLO name of a client without a host name (RFC 5321, 4.1.4)."""

_DOTTED_NAME = re.compile(r"(?:[a-z0-9-]+\.)+[a-z][a-z0-9-]*")


class Encryption(StrEnum):
    """Encryption of the connection to the server."""

    FROM_THE_START = "from the start"
    DEMANDED = "demanded"
    """STARTTLS; without it neither login nor mail is sent."""
    WHEN_OFFERED = "when offered"
    """STARTTLS where the server offers it."""
    LOCAL = "local"
    """STARTTLS where offered, on this machine: the certificate is not verified."""


@dataclass(frozen=True, slots=True)
class SmtpServer:
    """A server that accepts mails. Without a `user` there is no login."""

    host: str
    port: int
    encryption: Encryption
    user: str | None = None
    password: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        """Host and port, for messages to the operator."""
        return f"{self.host}:{self.port}"


def server_of(url: str) -> SmtpServer:
    """The server that `smtp://user:password@host:port` or `smtps://…` names; the settings have checked its form."""
    parts = urlsplit(url)
    from_the_start = parts.scheme == "smtps"
    host = parts.hostname or ""
    return SmtpServer(
        host=host,
        port=parts.port or (TLS_PORT if from_the_start else SUBMISSION_PORT),
        encryption=Encryption.FROM_THE_START if from_the_start else _by_starttls(host, bool(parts.username)),
        user=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password or ""),
    )


def name_in(public_url: str) -> str:
    """The EHLO name of the service: the host of its public URL where that is a domain name."""
    host = urlsplit(public_url).hostname or ""
    return host if _DOTTED_NAME.fullmatch(host) else NO_NAME


def _by_starttls(host: str, logs_in: bool) -> Encryption:
    if _is_loopback(host):
        return Encryption.LOCAL
    return Encryption.DEMANDED if logs_in else Encryption.WHEN_OFFERED


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
