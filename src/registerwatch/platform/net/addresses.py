"""Checks which addresses may be requested: the guard against requests into private networks (SSRF).

A URL's text is checked when it is saved. Every IP address that its name resolves to is checked at each delivery, since
a name can resolve differently each time.
"""

import ipaddress
import re
import socket
from urllib.parse import SplitResult, urlsplit

import idna
import msgspec

from registerwatch.errors import InvalidInput

MAX_URL_LENGTH = 2_000
PRIVATE_NAMES = ("localhost", "local", "internal", "localdomain", "home.arpa", "onion")
MIN_UNPRIVILEGED_PORT = 1024
WEB_PORTS = (80, 443)

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_NAT64_LOCAL = ipaddress.IPv6Network("64:ff9b:1::/48")
_COMPATIBLE = ipaddress.IPv6Network("::/96")
_ISATAP = (0x00005EFE, 0x02005EFE)
"""The first half of the interface identifier of an ISATAP address, which holds an IPv4 address (RFC 5214)."""
_MORE_RESERVED = tuple(
    ipaddress.ip_network(each) for each in ("192.0.0.0/24", "192.88.99.0/24", "fec0::/10", "3fff::/20", "5f00::/16")
)
"""Reserved networks that some Python releases do not know."""
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"(?=.{{1,253}}\.?$){_LABEL}(?:\.{_LABEL})*\.?")
_LEGACY_IPV4 = re.compile(r"(?:0[xX][0-9a-fA-F]*|[0-9]+)(?:\.(?:0[xX][0-9a-fA-F]*|[0-9]+)){0,3}")
"""Forms that C libraries accept as an IPv4 address: `127.1`, `0x7f000001`, `0177.0.0.1`, `2130706433`."""


class Target(msgspec.Struct, frozen=True):
    """A URL whose text was checked. `host` is a lower-case ASCII name, or an IP address in its usual form without
    brackets.
    """

    url: str
    scheme: str
    host: str
    port: int

    @property
    def ip(self) -> Address | None:
        """The host if it is an IP address."""
        return ip_of(self.host)


def target(text: str, *, allow_private: bool) -> Target:
    """A public https address. Raises `InvalidInput` with the reason.

    `allow_private` allows http and private networks, for services that run beside their receivers.
    """
    url = text.strip()
    if len(url) > MAX_URL_LENGTH or not url.isprintable() or " " in url or "\\" in url:
        raise InvalidInput("This is no web address.")
    parts = _split(url)
    if parts.scheme != "https" and not (allow_private and parts.scheme == "http"):
        raise InvalidInput("The address must begin with https://.")
    if "@" in parts.netloc:
        raise InvalidInput("The address may not hold a user name or a password.")
    host = _host(parts)
    port = _port(parts)
    if not allow_private:
        _refuse_private(host, port)
    shown = f"[{host}]" if ":" in host else host
    netloc = shown if parts.port is None else f"{shown}:{port}"
    return Target(parts._replace(netloc=netloc, fragment="").geturl(), parts.scheme, host, port)


def is_public(address: Address) -> bool:
    """Whether an IP address, and every IPv4 address that it embeds, is one of the public internet."""
    return all(
        each.is_global
        and not each.is_multicast
        and not each.is_reserved
        and not any(each in reserved for reserved in _MORE_RESERVED)
        for each in _with_embedded(address)
    )


def ip_of(host: str) -> Address | None:
    """The IP address that a host is, in any form that C libraries accept; None for a name."""
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        pass
    if _LEGACY_IPV4.fullmatch(host.rstrip(".")):
        try:
            return ipaddress.IPv4Address(socket.inet_aton(host.rstrip(".")))
        except OSError:
            return None
    return None


def _with_embedded(address: Address) -> list[Address]:
    """The address and every IPv4 address that it embeds."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    held = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    low, is_of_site = int(address) & 0xFFFFFFFF, int(address) >> 32 & 0xFFFFFFFF in _ISATAP
    if is_of_site or any(address in network for network in (_NAT64, _NAT64_LOCAL, _COMPATIBLE)):
        held.append(ipaddress.IPv4Address(low))
    embedded: list[Address] = [each for each in held if each is not None]
    # A mapped or NAT64 address is as public as its IPv4 address.
    return embedded if address.ipv4_mapped or address in _NAT64 else [address, *embedded]


def _refuse_private(host: str, port: int) -> None:
    name = host.rstrip(".").lower()
    if any(name == private or name.endswith(f".{private}") for private in PRIVATE_NAMES):
        raise InvalidInput("The address is one of a private network.")
    ip = ip_of(host)
    if ip is not None and not is_public(ip):
        raise InvalidInput("The address is one of a private network.")
    if ip is None and ("." not in name or name.rpartition(".")[2].isdigit()):
        raise InvalidInput("The host's name is not one of the public internet.")
    if port < MIN_UNPRIVILEGED_PORT and port not in WEB_PORTS:
        raise InvalidInput(f"Port {port} is not one of web servers; use 443, or one from {MIN_UNPRIVILEGED_PORT} on.")


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise InvalidInput("This is no web address. Write it as https://example.org/path.") from None
    if not parts.hostname:
        raise InvalidInput("This is no web address: it names no host. Write it as https://example.org/path.")
    return parts


def _host(parts: SplitResult) -> str:
    host = _ascii_host(parts.hostname or "")
    ip = ip_of(host) if "%" not in host else None
    if ip is not None:
        return str(ip)
    if "[" in parts.netloc or not _NAME.fullmatch(host):
        raise InvalidInput("The host's name is not valid.")
    return host


def _ascii_host(host: str) -> str:
    if host.isascii():
        return host
    try:
        return idna.encode(host, uts46=True).decode()
    except idna.IDNAError:
        raise InvalidInput("The host's name is not valid.") from None


def _port(parts: SplitResult) -> int:
    port = parts.port if parts.port is not None else {"https": 443, "http": 80}[parts.scheme]
    if port == 0:
        raise InvalidInput("There is no port 0.")
    return port
