"""Idempotency keys: a request that comes again gets the answer of the first."""

from dataclasses import dataclass

from registerwatch_standins.payment.errors import ApiError
from registerwatch_standins.payment.periods import DAY

_LONGEST = 255


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """The first answer, and what was params for it."""

    question: tuple[str, str, bytes]
    status: int
    body: bytes
    at: int


class IdempotencyKeys:
    """The answers of the last day, by key."""

    def __init__(self) -> None:
        self._kept: dict[str, KeptAnswer] = {}

    def recall(self, key: str, question: tuple[str, str, bytes], now: int) -> KeptAnswer | None:
        """The answer to the same question. Raises `ApiError` where the key was used for another one."""
        if len(key) > _LONGEST:
            raise ApiError(400, f"The idempotency key must not be longer than {_LONGEST} characters.")
        kept = self._kept.get(key)
        if kept is None or kept.at + DAY <= now:
            return None
        if kept.question != question:
            message = (
                "Keys for idempotent requests can only be used with the same parameters they were first used with."
            )
            raise ApiError(400, message, kind="idempotency_error")
        return kept

    def keep(self, key: str, answer: KeptAnswer) -> None:
        """Remember the answer."""
        self._kept[key] = answer
