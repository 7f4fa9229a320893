"""A real mail server on this machine that keeps what it takes, in a thread, for clients that need a socket."""

import asyncio
import email.policy
import ssl
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.parser import Parser
from typing import Any, cast
from urllib.parse import quote

from aiosmtpd.smtp import MISSING, SMTP, AuthResult, Envelope, LoginPassword, Session
from anyio.from_thread import start_blocking_portal

from tests.support.servers import end

HOST = "127.0.0.1"
SILENCE = "silence"
"""A reply that never comes."""
GONE = "gone"
"""What stands among the commands when a client gives up on a silent server."""
BREAK = "break"
"""A connection that ends instead of a reply."""


@dataclass(frozen=True, slots=True)
class Received:
    """A mail as it arrived, and how. `client` is by what name the sender's machine said hello."""

    sender: str
    recipient: str
    content: bytes
    encrypted: bool
    user: str | None
    client: str

    @property
    def message(self) -> EmailMessage:
        """The mail, parsed."""
        return Parser(EmailMessage, policy=email.policy.default).parsestr(self.content.decode())

    @property
    def to(self) -> str:
        """The address in the header."""
        return str(self.message["To"])

    @property
    def subject(self) -> str:
        """The subject, decoded."""
        return str(self.message["Subject"])

    @property
    def text(self) -> str:
        """The text, decoded, with plain line ends."""
        plain = cast("EmailMessage", self.message.get_body(("plain",)))
        return str(plain.get_content()).replace("\r\n", "\n")


@dataclass
class Mailbox:
    """What arrived, and the URL to send more to. `commands` are those that clients gave, over all connections."""

    address: str = ""
    mails: list[Received] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    arrived: threading.Condition = field(default_factory=threading.Condition)

    def wait_for(self, count: int, seconds: float = 10.0) -> list[Received]:
        """All mails, once there are so many. It blocks: a coroutine calls it by `asyncio.to_thread`."""
        with self.arrived:
            if not self.arrived.wait_for(lambda: len(self.mails) >= count, seconds):
                raise TimeoutError(f"{len(self.mails)} of {count} mails arrived within {seconds} s")
            return list(self.mails)


@contextmanager
def mailbox(
    *,
    replies: Mapping[str, Sequence[str]] | None = None,
    login: tuple[str, str] | None = None,
    logins_in_the_clear: bool = False,
    starttls: ssl.SSLContext | None = None,
    tls: ssl.SSLContext | None = None,
    smtputf8: bool = True,
) -> Iterator[Mailbox]:
    """A mail server that takes everything, unless told otherwise.

    `replies` are what is said to a command instead, one time after the other: `{"RCPT": ["451 later"]}`. With a
    `login`, of user and password, nobody else hands in mails.
    """
    box = Mailbox()
    handler = _Handler(box, {command: list(each) for command, each in (replies or {}).items()}, login)

    @asynccontextmanager
    async def listening() -> AsyncIterator[int]:
        loop, connections = asyncio.get_running_loop(), list[asyncio.BaseTransport]()

        def protocol() -> SMTP:
            return _Protocol(
                connections,
                handler,
                hostname="mailbox.test",
                enable_SMTPUTF8=smtputf8,
                tls_context=starttls,
                auth_require_tls=tls is None and not logins_in_the_clear,
                authenticator=handler.authenticate,
                loop=loop,
            )

        server = await loop.create_server(protocol, HOST, 0, ssl=tls)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            await end(server, connections)

    with start_blocking_portal() as portal, portal.wrap_async_context_manager(listening()) as port:
        user = f"{quote(login[0], safe='')}:{quote(login[1], safe='')}@" if login else ""
        box.address = f"{'smtps' if tls else 'smtp'}://{user}{HOST}:{port}"
        yield box


class _Protocol(SMTP):
    """Adds its transport to `connections`, and after STARTTLS another one."""

    def __init__(self, connections: list[asyncio.BaseTransport], *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._connections = connections

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._connections.append(transport)
        super().connection_made(transport)


class _Handler:
    """aiosmtpd's handler: answers by the script, then by the rules, and keeps what was taken."""

    def __init__(self, box: Mailbox, replies: dict[str, list[str]], login: tuple[str, str] | None) -> None:
        self._box = box
        self._replies = replies
        self._login = login

    def authenticate(
        self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, given: LoginPassword
    ) -> AuthResult:
        """Whether these are the right user and password."""
        is_right = (given.login.decode(), given.password.decode()) == self._login
        return AuthResult(success=is_right, handled=False, auth_data=given)

    async def handle_EHLO(  # noqa: N802  # aiosmtpd's name
        self, server: SMTP, session: Session, envelope: Envelope, client: str, offers: list[str]
    ) -> list[str]:
        session.host_name = client
        reply = await self._reply("EHLO", server)
        return offers if reply is None else [reply]

    async def handle_AUTH(  # noqa: N802  # aiosmtpd's name
        self, server: SMTP, session: Session, envelope: Envelope, arguments: list[str]
    ) -> object:
        return await self._reply("AUTH", server) or MISSING

    async def handle_MAIL(  # noqa: N802  # aiosmtpd's name
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        reply = await self._reply("MAIL", server)
        if self._login is not None and not session.authenticated:
            return "530 5.7.0 Authentication required"
        envelope.mail_from = address
        return reply or "250 OK"

    async def handle_RCPT(  # noqa: N802  # aiosmtpd's name
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        envelope.rcpt_tos.append(address)
        return await self._reply("RCPT", server) or "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        reply = await self._reply("DATA", server)
        if reply is None:
            self._keep(server, session, envelope)
        return reply or "250 OK"

    async def handle_QUIT(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        return await self._reply("QUIT", server) or "221 Bye"

    async def _reply(self, command: str, server: SMTP) -> str | None:
        self._box.commands.append(command)
        script = self._replies.get(command)
        reply = script.pop(0) if script else None
        if reply == SILENCE:
            try:
                await asyncio.Event().wait()
            finally:
                self._box.commands.append(GONE)
        if reply == BREAK:
            assert isinstance(server.transport, asyncio.Transport)
            server.transport.abort()
            raise asyncio.CancelledError
        return reply

    def _keep(self, server: SMTP, session: Session, envelope: Envelope) -> None:
        assert isinstance(envelope.content, bytes)
        assert server.transport is not None
        known = cast("LoginPassword | None", session.auth_data)  # aiosmtpd declares it as None
        received = Received(
            sender=envelope.mail_from or "",
            recipient=envelope.rcpt_tos[0],
            content=envelope.content,
            encrypted=server.transport.get_extra_info("sslcontext") is not None,
            user=known.login.decode() if known else None,
            client=session.host_name or "",
        )
        with self._box.arrived:
            self._box.mails.append(received)
            self._box.arrived.notify_all()
