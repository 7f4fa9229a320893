"""Limits the mails of notifications in a minute, over all processes that share the database."""

from hashlib import sha256

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

WINDOW_SECONDS = 60


class MailPace:
    """Counts the mails of each minute in a row of `mail_counts`, which is deleted with the old rows there."""

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute

    async def left(self, connection: AsyncConnection, now: int) -> int:
        """How many more may be sent in this minute."""
        digest, _ = _window(now)
        sent = (await connection.execute(_SENT, {"digest": digest})).scalar_one_or_none() or 0
        return max(0, self._per_minute - int(sent))

    async def take(self, connection: AsyncConnection, number: int, now: int) -> bool:
        """Count mails; where they are too many by now, count nothing and return False."""
        digest, expires_at = _window(now)
        values = {"digest": digest, "number": number, "expires_at": expires_at, "most": self._per_minute - number}
        return number <= self._per_minute and (await connection.execute(_TAKE, values)).rowcount == 1


def _window(now: int) -> tuple[str, int]:
    minute = now // WINDOW_SECONDS
    return sha256(f"mail pace {minute}".encode()).hexdigest(), (minute + 1) * WINDOW_SECONDS


_SENT = text("SELECT mails FROM mail_counts WHERE digest = :digest")
_TAKE = text(
    "INSERT INTO mail_counts (digest, mails, expires_at) VALUES (:digest, :number, :expires_at)"
    " ON CONFLICT (digest) DO UPDATE SET mails = mail_counts.mails + excluded.mails WHERE mail_counts.mails <= :most"
)
