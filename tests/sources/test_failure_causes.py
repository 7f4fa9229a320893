"""Why a host did not answer: what reasons name."""

import errno
import socket
import ssl
from collections.abc import Callable

import httpx2
import pytest

from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.failure_causes import cause_of, host_of, is_web_filter
from tests.register.canned import in_turn
from tests.sources.conftest import Sender
from tests.sources.test_requests import a_question

WEB_FILTER = b"<html><title>Web Filter - Access Denied</title><body>198.51.100.7 is not allowed</body></html>"


def caused_by(cause: BaseException) -> httpx2.ConnectError:
    """An error of the client, as the library wraps what the system said."""
    outer, inner = httpx2.ConnectError("All connection attempts failed"), OSError("All connection attempts failed")
    inner.__cause__ = cause
    outer.__cause__ = inner
    return outer


def certificate_error() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_message = "self-signed certificate"
    return error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (caused_by(socket.gaierror(socket.EAI_NONAME, "Name or service not known")), "DNS name not found"),
        (caused_by(socket.gaierror(socket.EAI_AGAIN, "Temporary failure")), "the DNS lookup failed"),
        (caused_by(ConnectionRefusedError(errno.ECONNREFUSED, "('10.1.2.3', 9)")), "connection refused"),
        (
            caused_by(ExceptionGroup("both", [OSError(errno.ENETUNREACH, "v6"), OSError(errno.ECONNREFUSED, "v4")])),
            "no route to it: the network is unreachable",
        ),
        (caused_by(certificate_error()), "TLS: its certificate was not accepted, self-signed certificate"),
        (caused_by(ssl.SSLError(1, "WRONG_VERSION_NUMBER")), "TLS: no encrypted connection"),
        (httpx2.ConnectTimeout("slow"), "timed out, no connection within 4 s"),
        (httpx2.ProxyError("403"), "the proxy that this machine is set to use refused the connection"),
        (httpx2.UnsupportedProtocol("ftp"), "its address is not a web address"),
        (httpx2.RemoteProtocolError("garbage"), "the connection was closed before the answer ended"),
        (httpx2.ReadError("?"), "the connection failed"),
    ],
)
def test_a_failed_connection_is_named_by_its_cause(error: Exception, words: str) -> None:
    assert cause_of(error).startswith(words)
    assert "10.1.2.3" not in cause_of(error), "an address of a network inside is nobody's business"


def test_a_host_is_named_without_what_else_an_address_has() -> None:
    assert host_of("https://user:secret@ec.europa.eu/tools/eudamed/api?x=1") == "ec.europa.eu"
    assert host_of("http://127.0.0.1:8100/eudamed") == "127.0.0.1:8100"
    assert host_of("http://[::1/x") == "http://[::1/x"


def test_a_page_that_shuts_out_is_told_from_other_pages() -> None:
    assert is_web_filter(WEB_FILTER)
    assert is_web_filter("<h1>Web Filter – Access Denied</h1>".encode())
    assert not is_web_filter(b"<html>Network Error</html>")


@pytest.mark.parametrize(
    ("answer", "reason", "asked"),
    [
        (
            lambda: caused_by(ConnectionRefusedError(errno.ECONNREFUSED, "refused")),
            "The register (register.test) could not be reached: connection refused.",
            3,
        ),
        (
            lambda: httpx2.Response(403, content=WEB_FILTER),
            "The register (register.test) shuts this address out: Web Filter – Access Denied.",
            1,
        ),
        (
            lambda: httpx2.Response(200, content=WEB_FILTER),
            "The register (register.test) shuts this address out: Web Filter – Access Denied.",
            1,
        ),
    ],
)
async def test_what_comes_not_from_the_register_says_so_and_is_repeated_only_where_that_can_help(
    sender: Sender, answer: Callable[[], httpx2.Response | Exception], reason: str, asked: int
) -> None:
    register = in_turn(answer())
    requests = sender(register)

    with pytest.raises(RegisterFailure) as caught:
        await requests.get(
            a_question(), priority=RequestPriority.WATCH, deadline=requests.deadline(RequestPriority.WATCH)
        )

    assert (caught.value.reason, caught.value.is_unreachable, len(register.asked)) == (reason, True, asked)
