"""Reads the mailbox for undeliverable mails, by IMAP (RFC 3501) over TLS."""

import asyncio
import imaplib
import socket
import ssl
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import unquote, urlsplit

from registerwatch.errors import MailboxUnreadable
from registerwatch.notifications.bounces.bounce_report import MAX_REPORT_BYTES, BounceReport, report_of

IMAPS_PORT = 993
MAX_MESSAGES = 100
"""Messages per run; others wait for the next one."""
ANSWER_SECONDS = 20.0
"""Time limit for one answer of the server."""
RUN_SECONDS = 120.0
WINDOW = 10_000
"""Messages in the range of one search: its answer is one line, whose length is bounded."""
MAX_LITERAL_BYTES = 2 * MAX_REPORT_BYTES
MAX_ERROR_LENGTH = 200


@dataclass(frozen=True, slots=True)
class ImapFolder:
    """A folder and its user."""

    host: str
    port: int
    user: str = field(repr=False)
    password: str = field(repr=False)
    folder: str

    @property
    def name(self) -> str:
        """Host, port and folder, for messages to the operator."""
        return f"{self.host}:{self.port}/{self.folder}"


def folder_of(url: str) -> ImapFolder:
    """The folder that `imaps://user:password@host/folder` names; the settings have checked its form."""
    parts = urlsplit(url)
    return ImapFolder(
        parts.hostname or "",
        parts.port or IMAPS_PORT,
        unquote(parts.username or ""),
        unquote(parts.password or ""),
        unquote(parts.path.strip("/")) or "INBOX",
    )


@dataclass(frozen=True, slots=True)
class UnreadMessage:
    """The beginning of a message, and the server's id of it."""

    uid: str
    content: bytes = field(repr=False)


class Reports(Protocol):
    """The receiver of reports."""

    async def apply(self, report: BounceReport | None) -> None:
        """Apply the report of a message; None for a message without one."""


class BounceReader:
    """Reads unread messages, applies their reports, and marks them as read."""

    def __init__(
        self,
        folder: ImapFolder,
        reports: Reports,
        *,
        tls: ssl.SSLContext | None = None,
        run_seconds: float = RUN_SECONDS,
    ) -> None:
        self._folder = folder
        self._reports = reports
        self._tls = tls or ssl.create_default_context()
        self._run_seconds = run_seconds

    async def run(self) -> int:
        """Read unread messages, at most a hundred; returns how many.

        A message is marked after it was applied: after a kill in between the next run reads it again, which changes
        nothing. Raises `MailboxUnreadable`.
        """
        session = _ImapSession(self._folder, self._tls)
        try:
            async with asyncio.timeout(self._run_seconds):
                messages = await asyncio.to_thread(session.unread)
                for each in messages:
                    await self._reports.apply(await asyncio.to_thread(report_of, each.content))
                await asyncio.to_thread(session.mark_read, messages)
        except TimeoutError:
            raise MailboxUnreadable(f"{self._folder.name} did not answer in time.") from None
        except (OSError, ValueError, imaplib.IMAP4.error) as error:
            raise MailboxUnreadable(f"{self._folder.name} cannot be read: {_in_one_line(error)}.") from None
        finally:
            session.interrupt()
            await asyncio.to_thread(session.close)
        return len(messages)


class _ImapSession:
    """One connection. Its methods block and run in threads; `interrupt` ends a waiting one, then `close` it."""

    def __init__(self, folder: ImapFolder, tls: ssl.SSLContext) -> None:
        self._folder = folder
        self._tls = tls
        self._client: imaplib.IMAP4_SSL | None = None
        self._used = threading.Lock()

    def unread(self) -> Sequence[UnreadMessage]:
        """The first unread messages of the folder."""
        with self._used:
            client = _BoundedImap(self._folder.host, self._folder.port, ssl_context=self._tls, timeout=ANSWER_SECONDS)
            self._client = client
            self._log_in(client)
            count = int(_first(client.select(f'"{self._folder.folder}"')) or b"0")
            return [UnreadMessage(uid, self._beginning(client, uid)) for uid in self._unread_uids(client, count)]

    def mark_read(self, messages: Sequence[UnreadMessage]) -> None:
        """Mark messages as read, and log out."""
        assert self._client is not None, "they were read before"
        with self._used:
            if messages:
                uids = ",".join(each.uid for each in messages)
                _answered(self._client.uid("STORE", uids, "+FLAGS.SILENT", r"(\Seen)"))
            self._client.logout()

    def interrupt(self) -> None:
        """Make a method fail that waits for the server in another thread."""
        if self._client is not None:
            with suppress(OSError):
                self._client.socket().shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        with self._used, suppress(OSError):
            if self._client is not None:
                self._client.shutdown()

    def _unread_uids(self, client: imaplib.IMAP4_SSL, count: int) -> Sequence[str]:
        uids: list[str] = []
        for first in range(1, count + 1, WINDOW):
            within = f"{first}:{min(first + WINDOW - 1, count)}"
            uids += _first(client.uid("SEARCH", within, "UNSEEN")).decode("ascii").split()
            if len(uids) >= MAX_MESSAGES:
                break
        return uids[:MAX_MESSAGES]

    def _log_in(self, client: imaplib.IMAP4_SSL) -> None:
        try:
            if "AUTH=PLAIN" in client.capabilities:
                answer = f"\0{self._folder.user}\0{self._folder.password}".encode()
                client.authenticate("PLAIN", lambda _: answer)
            else:
                client.login(self._folder.user, self._folder.password)
        except client.abort:
            raise
        except client.error:
            raise ValueError("it refused the login") from None

    def _beginning(self, client: imaplib.IMAP4_SSL, uid: str) -> bytes:
        answer = _answered(client.uid("FETCH", uid, f"(BODY.PEEK[]<0.{MAX_REPORT_BYTES}>)"))
        found: list[bytes] = [each[1] for each in answer if isinstance(each, tuple)]
        return found[0][:MAX_REPORT_BYTES] if found else b""


class _BoundedImap(imaplib.IMAP4_SSL):
    """Ends the connection where the server announces more than was asked for."""

    def read(self, size: int) -> bytes:
        if size > MAX_LITERAL_BYTES:
            raise self.abort("the server sends more than it was asked for")
        return super().read(size)


def _answered(answer: tuple[str, Sequence[object]]) -> Sequence[object]:
    """The data of an answer. Raises `ValueError` where it was refused."""
    if answer[0] != "OK":
        raise ValueError(f"it refused a command: {answer[1]!r}")
    return answer[1]


def _first(answer: tuple[str, Sequence[object]]) -> bytes:
    """The first line of an answer; empty where it has none."""
    lines = _answered(answer)
    return lines[0] if lines and isinstance(lines[0], bytes) else b""


def _in_one_line(error: Exception) -> str:
    """An error in one bounded line."""
    return " ".join(str(error).split())[:MAX_ERROR_LENGTH].rstrip(".") or type(error).__name__
