"""A small IMAP server on this machine, over TLS, for what reads a mailbox; and what it does wrong when told to."""

import base64
import re
import socket
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

HOST = "127.0.0.1"
USER, PASSWORD = "bounces@example.org", 'pä:ss"w\\rd'
BREAK, SILENCE, REFUSAL, FLOOD = "break", "silence", "refusal", "flood"
"""What it does instead of an answer: ends the connection, says nothing, refuses, announces a gigabyte."""


@dataclass
class ImapServer:
    """`messages` by their UIDs, which of them are `seen`, commands that came, and `faults` by command."""

    port: int = 0
    messages: dict[int, bytes] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)
    commands: list[str] = field(default_factory=list)
    faults: dict[str, str] = field(default_factory=dict)
    plain_login: bool = False
    ended: threading.Event = field(default_factory=threading.Event)


@contextmanager
def imap_server(tls: ssl.SSLContext) -> Iterator[ImapServer]:
    """A server with one folder, `INBOX`, of the user `USER`."""
    state = ImapServer()

    class Listening(socketserver.ThreadingTCPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """A client that goes away, or does not trust the certificate, is no error here."""

        def finish_request(self, request: object, client_address: object) -> None:
            assert isinstance(request, socket.socket)
            request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with tls.wrap_socket(request, server_side=True) as connection:
                _Conversation(state, connection).hold()

    with Listening((HOST, 0), socketserver.BaseRequestHandler) as server:
        state.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield state
        finally:
            state.ended.set()
            server.shutdown()
            thread.join(5)


class _Conversation:
    """One connection."""

    def __init__(self, state: ImapServer, connection: ssl.SSLSocket) -> None:
        self._state = state
        self._lines = connection.makefile("rb")
        self._connection = connection

    def hold(self) -> None:
        """Answer until the client leaves."""
        with self._lines:
            self._converse()

    def _converse(self) -> None:
        self._say("* OK ready")
        while line := self._lines.readline().decode().strip():
            tag, _, rest = line.partition(" ")
            name = re.match(r"(?:UID )?\S+", rest.upper())
            assert name is not None
            self._state.commands.append(name[0])
            fault = self._state.faults.get(name[0])
            if fault == BREAK:
                return
            if fault == SILENCE:
                self._state.ended.wait(10)
                return
            if fault == FLOOD:
                self._say("* 1 FETCH (UID 1 BODY[]<0> {1000000000}")
            elif fault == REFUSAL or not self._answer(tag, name[0], rest):
                self._say(f"{tag} NO [CANNOT] not here")
            else:
                self._say(f"{tag} OK done")

    def _answer(self, tag: str, name: str, rest: str) -> bool:
        if name == "CAPABILITY":
            self._say("* CAPABILITY IMAP4rev1" + ("" if self._state.plain_login else " AUTH=PLAIN"))
        elif name == "AUTHENTICATE":
            self._say("+ ")
            return base64.b64decode(self._lines.readline()).decode() == f"\0{USER}\0{PASSWORD}"
        elif name == "LOGIN":
            return rest == r'LOGIN bounces@example.org "simple \"pass"'
        elif name == "SELECT":
            self._say(f"* {len(self._state.messages)} EXISTS")
            return rest == 'SELECT "INBOX"'
        elif name == "UID SEARCH":
            self._search(rest)
        elif name == "UID FETCH":
            self._fetch(rest)
        elif name == "UID STORE":
            uids = rest.split()[2]
            self._state.seen |= {int(each) for each in uids.split(",")}
        return True

    def _search(self, rest: str) -> None:
        first, last = map(int, rest.split()[2].split(":"))
        window = sorted(self._state.messages)[first - 1 : last]
        self._say("* SEARCH " + " ".join(str(uid) for uid in window if uid not in self._state.seen))

    def _fetch(self, rest: str) -> None:
        uid, most = map(int, re.findall(r"FETCH (\d+) \(BODY\.PEEK\[\]<0\.(\d+)>\)", rest)[0])
        content = self._state.messages[uid][:most]
        self._say(f"* 1 FETCH (UID {uid} BODY[]<0> {{{len(content)}}}")
        self._connection.sendall(content)
        self._say(")")

    def _say(self, line: str) -> None:
        self._connection.sendall(line.encode() + b"\r\n")
