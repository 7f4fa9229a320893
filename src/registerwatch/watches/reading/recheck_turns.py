"""Whose watches a recheck reads: accounts take turns, and within an account the longest unread comes first. Pure."""

from collections.abc import Collection, Sequence
from itertools import zip_longest

import msgspec

FIRST_READS_OF = 3
"""One place in so many of a run is for watches that were never read, as long as there are some."""


class WaitingAccount(msgspec.Struct, frozen=True):
    """An account that waits for its turn since an instant, with its subjects, the longest unread first."""

    id: int
    waiting_since: int
    subjects: Sequence[str]


class Turn(msgspec.Struct, frozen=True):
    """A turn of an account: the subject that is read for it; None where others in the run read all that it watches."""

    account_id: int
    subject: str | None
    is_first_read: bool = False


def places_of_first_reads(places: int, *, were_last: bool) -> int:
    """How many places of a run are for watches that were never read.

    A run of a single place is for them and for the others by turns; `were_last` says whose the last one was.
    """
    return max(1, places // FIRST_READS_OF) if places > 1 else int(not were_last)


def places_of_paying(places: int, *, were_last: bool) -> int:
    """How many of some places are for accounts that pay before trials have any: half, and of an odd number more.

    A single place is for both by turns; `were_last` says whether the last one was for accounts that pay.
    """
    return (places + 1) // 2 if places > 1 else int(places == 1 and not were_last)


def by_turns(paying: Sequence[Turn], trials: Sequence[Turn]) -> list[Turn]:
    """The turns of accounts that pay and those of trials alternate, so a run that ends early has read for both."""
    return [turn for pair in zip_longest(paying, trials) for turn in pair if turn is not None]


def turns_of(
    accounts: Sequence[WaitingAccount], places: int, taken: Collection[str], *, is_first_read: bool = False
) -> list[Turn]:
    """The turns of a run that has so many places. The account that waits for the longest time comes first; once each
    has had a turn, it begins again.

    A subject that the run reads already (`taken`) costs no turn: the account's next one is read in its place.
    """
    left = {account.id: [each for each in account.subjects if each not in taken] for account in accounts}
    order = [account.id for account in sorted(accounts, key=lambda each: (each.waiting_since, each.id))]
    turns: list[Turn] = []
    read: set[str] = set()
    is_first_round = True
    while order and len(read) < places:
        remaining = []
        for account_id in order:
            if len(read) == places:
                break
            subject = _next(left[account_id], read)
            if subject is not None:
                read.add(subject)
                remaining.append(account_id)
            if subject is not None or is_first_round:
                turns.append(Turn(account_id, subject, is_first_read))
        order, is_first_round = remaining, False
    return turns


def _next(subjects: list[str], read: Collection[str]) -> str | None:
    while subjects:
        subject = subjects.pop(0)
        if subject not in read:
            return subject
    return None
