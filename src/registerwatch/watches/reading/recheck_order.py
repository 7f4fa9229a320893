"""The order of a recheck: accounts in rotation, and within an account the longest unread first. Pure."""

from collections.abc import Collection, Sequence
from itertools import zip_longest

import msgspec

FIRST_READS_OF = 3
"""One in this many slots of a run is for watches that were never read, as long as there are some."""


class WaitingAccount(msgspec.Struct, frozen=True):
    """An account that waits to be served since an instant, with its subjects, the longest unread first."""

    id: int
    waiting_since: int
    subjects: Sequence[str]


class RecheckEntry(msgspec.Struct, frozen=True):
    """An account served by a run: the subject read for it, None where the run reads all its subjects for others."""

    account_id: int
    subject: str | None
    is_first_read: bool = False


def slots_of_first_reads(slots: int, *, were_last: bool) -> int:
    """How many slots of a run are for watches that were never read.

    A single slot alternates between them and the others; `were_last` says whether they had the last one.
    """
    return max(1, slots // FIRST_READS_OF) if slots > 1 else int(not were_last)


def slots_of_paying(slots: int, *, were_last: bool) -> int:
    """How many slots are for paying accounts: half, rounded up.

    A single slot alternates between both groups; `were_last` says whether paying accounts had the last one.
    """
    return (slots + 1) // 2 if slots > 1 else int(slots == 1 and not were_last)


def alternated(paying: Sequence[RecheckEntry], trials: Sequence[RecheckEntry]) -> list[RecheckEntry]:
    """The entries of paying accounts and of trials, alternated: a run that ends early has read for both."""
    return [entry for pair in zip_longest(paying, trials) for entry in pair if entry is not None]


def order_of(
    accounts: Sequence[WaitingAccount], slots: int, taken: Collection[str], *, is_first_read: bool = False
) -> list[RecheckEntry]:
    """The entries of a run, which fill its slots. The account that waits longest comes first; once each account was
    served, the order repeats.

    A subject that the run reads already (`taken`) needs no slot: the account's next subject is read instead.
    """
    left = {account.id: [each for each in account.subjects if each not in taken] for account in accounts}
    order = [account.id for account in sorted(accounts, key=lambda each: (each.waiting_since, each.id))]
    entries: list[RecheckEntry] = []
    read: set[str] = set()
    is_first_round = True
    while order and len(read) < slots:
        remaining = []
        for account_id in order:
            if len(read) == slots:
                break
            subject = _next(left[account_id], read)
            if subject is not None:
                read.add(subject)
                remaining.append(account_id)
            if subject is not None or is_first_round:
                entries.append(RecheckEntry(account_id, subject, is_first_read))
        order, is_first_round = remaining, False
    return entries


def _next(subjects: list[str], read: Collection[str]) -> str | None:
    while subjects:
        subject = subjects.pop(0)
        if subject not in read:
            return subject
    return None
