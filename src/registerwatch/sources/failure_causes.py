"""Causes for which a host did not answer, in words that an operator would search for. Pure."""

import errno
import re
import socket
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx2

CONNECT_SECONDS = 4.0
"""A host that takes longer to accept a connection counts as one that cannot be reached."""

NO_REASON = "for no reason given"

_ERRNOS = {
    errno.ECONNREFUSED: "connection refused",
    errno.ECONNRESET: "the connection was reset",
    errno.ENETUNREACH: "no route to it: the network is unreachable",
    errno.EHOSTUNREACH: "no route to it: the host is unreachable",
    errno.ETIMEDOUT: "the connection timed out",
    errno.EPIPE: "the connection was closed",
    errno.EACCES: "this machine forbids the connection",
    errno.EPERM: "this machine forbids the connection",
}
_WEB_FILTER = re.compile(rb"web\s*filter|access\s+denied", re.IGNORECASE)


def host_of(url: str) -> str:
    """The host of an address, with its port where it names one; the address itself where it names no host."""
    try:
        parts = urlsplit(url)
        return parts.netloc.rpartition("@")[2] or url
    except ValueError:
        return url


def cause_of(error: Exception) -> str:
    """The cause of a failed connection: a few words without an address of this machine."""
    for each in _chain(error):
        if cause := _known_cause(each):
            return cause
    return "the connection failed"


def is_web_filter(body: bytes) -> bool:
    """Whether a web page is the one with which the register's gateway shuts out some networks."""
    return bool(_WEB_FILTER.search(body[:20_000]))


def _known_cause(error: BaseException) -> str:
    match error:
        case socket.gaierror():
            is_unknown = error.errno in (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))
            return "DNS name not found" if is_unknown else "the DNS lookup failed"
        case ssl.SSLCertVerificationError():
            return f"TLS: its certificate was not accepted, {getattr(error, 'verify_message', None) or NO_REASON}"
        case ssl.SSLError():
            return f"TLS: no encrypted connection, {_words(getattr(error, 'reason', None))}"
        case httpx2.ConnectTimeout():
            return f"timed out, no connection within {CONNECT_SECONDS:g} s"
        case httpx2.ProxyError():
            return "the proxy that this machine is set to use refused the connection"
        case httpx2.UnsupportedProtocol() | httpx2.InvalidURL():
            return "its address is not a web address"
        case httpx2.RemoteProtocolError():
            return "the connection was closed before the answer ended, or what came is no HTTP"
        case OSError():
            return _ERRNOS.get(error.errno or 0, "")
    return ""


def _words(reason: str | None) -> str:
    """A reason of the library for encryption, such as `WRONG_VERSION_NUMBER`, in words."""
    return (reason or NO_REASON).replace("_", " ").lower()


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and its causes, the innermost first: a library's own error says less than the system's."""
    below = error.__cause__ or error.__context__
    if below is not None:
        yield from _chain(below)
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _chain(each)
    yield error
