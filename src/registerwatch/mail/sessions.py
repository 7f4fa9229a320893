"""Sessions with the mail server, each for many mails: to connect, encrypt and log in takes longer than a mail.

A session is kept open while other mails are being sent. The last sender ends all unused sessions.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress

import aiosmtplib

from registerwatch.mail.message import Message
from registerwatch.mail.server import SmtpServer
from registerwatch.mail.smtp import Failure, failure_of, new_client, quit_session
from registerwatch.platform.structs import replace

MAX_MAILS = 100
"""Per session; many servers end one after 100 mails."""
SECONDS_BEFORE_DATA = 20.0
SECONDS_OF_DATA = 30.0
RESET_SECONDS = 2.0


class SmtpSessions:
    """Sends mails, each once. `tls` replaces the system's certificates."""

    def __init__(
        self,
        server: SmtpServer,
        *,
        own_name: str,
        tls: ssl.SSLContext | None = None,
        seconds_before_data: float = SECONDS_BEFORE_DATA,
        seconds_of_data: float = SECONDS_OF_DATA,
    ) -> None:
        self._server = server
        self._own_name = own_name
        self._tls = tls
        self._seconds_before_data = seconds_before_data
        self._seconds_of_data = seconds_of_data
        self._idle: list[_Session] = []
        self._sending = 0

    async def send(self, message: Message, before_data: Callable[[], Awaitable[None]]) -> Failure | None:
        """Send a mail; None when the server accepted it. Awaits `before_data` right before it can be accepted."""
        self._sending += 1
        try:
            return await self._send(message, before_data)
        finally:
            self._sending -= 1
            await self._end_idle()

    async def _send(self, message: Message, before_data: Callable[[], Awaitable[None]]) -> Failure | None:
        try:
            async with asyncio.timeout(self._seconds_before_data):
                begun = await self._begun(message)
        except TimeoutError:
            return Failure(f"{self._server.name} did not answer within {self._seconds_before_data:.3g} s.", True)
        if isinstance(begun, Failure):
            return begun
        try:
            await before_data()
            failure = await begun.data(message, self._seconds_of_data)
        except BaseException:
            begun.client.close()
            raise
        await self._give_back(begun, failure)
        return failure

    async def _begun(self, message: Message) -> "_Session | Failure":
        """A session in which the server waits for the mail. A used one may have ended meanwhile."""
        while True:
            session = self._idle.pop() if self._idle else _Session(self._server, self._own_name, self._tls)
            try:
                failure = await session.begin(message)
            except BaseException:
                session.client.close()
                raise
            if failure is None:
                return session
            was_used = session.mails > 0
            await self._give_back(session, failure)
            if not was_used or failure.is_of_mail:
                return failure

    async def _give_back(self, session: "_Session", failure: Failure | None) -> None:
        """Keep a session for others, or end it."""
        is_usable = failure is None or (failure.is_of_mail and await session.reset())
        if is_usable and session.mails < MAX_MAILS and self._sending > 1:
            self._idle.append(session)
        else:
            await session.end()

    async def _end_idle(self) -> None:
        """End kept sessions where no mail is being sent."""
        idle, self._idle = (self._idle, []) if not self._sending else ([], self._idle)
        await asyncio.gather(*(session.end() for session in idle))


class _Session:
    """A connection to the server, opened with its first mail. `mails` were accepted or refused in it."""

    def __init__(self, server: SmtpServer, own_name: str, tls: ssl.SSLContext | None) -> None:
        self._server = server
        self.client = new_client(server, own_name, tls)
        self.mails = 0

    async def begin(self, message: Message) -> Failure | None:
        """Name sender and recipient."""
        options, encoding = (["SMTPUTF8"], "utf-8") if message.needs_utf8 else ([], "ascii")
        try:
            if not self.mails:
                await self.client.connect()
            if message.needs_utf8 and not await self._takes_utf8():
                raise aiosmtplib.SMTPNotSupported("no SMTPUTF8")
            await self.client.mail(message.sender, options=options, encoding=encoding)
            await self.client.rcpt(message.recipient, encoding=encoding)
        except (OSError, aiosmtplib.SMTPException) as error:
            return failure_of(error, self._server)
        return None

    async def data(self, message: Message, seconds: float) -> Failure | None:
        """Hand the mail over. Without an answer it may have been accepted."""
        self.mails += 1
        try:
            async with asyncio.timeout(seconds):
                await self.client.data(message.content)
        except aiosmtplib.SMTPDataError as error:
            failure = failure_of(error, self._server)
            return replace(failure, is_uncertain=error.code < 400)
        except TimeoutError:
            return Failure(f"{self._server.name} did not say whether it accepted the mail.", is_uncertain=True)
        except (OSError, aiosmtplib.SMTPException):
            return Failure(f"{self._server.name} broke off while it got the mail.", is_uncertain=True)
        return None

    async def reset(self) -> bool:
        """Undo what a refused mail has begun; returns whether another may follow."""
        self.mails = max(self.mails, 1)
        with suppress(OSError, aiosmtplib.SMTPException, TimeoutError):
            async with asyncio.timeout(RESET_SECONDS):
                await self.client.rset()
                return True
        return False

    async def end(self) -> None:
        """Say goodbye where the server listens."""
        try:
            await quit_session(self.client)
        finally:
            self.client.close()

    async def _takes_utf8(self) -> bool:
        if self.client.is_ehlo_or_helo_needed:
            await self.client.ehlo()
        return self.client.supports_extension("smtputf8")
