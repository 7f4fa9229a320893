"""How long reads for accounts wait for their first place while all other kinds of requests ask all the time.

`python -m tests.sources.watch_waits` prints the figures of `docs/scaling.md`, for a pace of 20 a minute.
"""

import heapq
import random
from dataclasses import dataclass
from itertools import count

from registerwatch.sources.budget_parts import BudgetWindow, RequestPriority

BEGIN, HOURS = 1_800_000_000.25, 8
PER_MINUTE = 20
REQUESTS_OF_A_READ = 3
ANSWER_SECONDS = 0.4


@dataclass(slots=True)
class Sender:
    """A read of an account, or a kind that never stops asking; `waits` has the seconds to each place."""

    kind: RequestPriority
    begin: float
    left: float
    waits: list[float]


def senders_of(reads_an_hour: float, chance: random.Random) -> list[Sender]:
    """All other kinds from the beginning, reads from the third minute on."""
    kinds = [kind for kind in RequestPriority if kind is not RequestPriority.WATCH]
    senders = [Sender(kind, chance.random(), float("inf"), []) for kind in kinds]
    at = 120.0
    while (at := at + chance.expovariate(reads_an_hour / 3_600)) < HOURS * 3_600:
        senders.append(Sender(RequestPriority.WATCH, at, REQUESTS_OF_A_READ, []))
    return senders


def simulated(reads_an_hour: float) -> list[Sender]:
    """The reads of some hours, with their waits."""
    chance, window, order = random.Random(1), BudgetWindow(PER_MINUTE, {}, {}), count()
    senders = senders_of(reads_an_hour, chance)
    due = [(sender.begin, next(order), sender) for sender in senders]
    heapq.heapify(due)
    while due[0][0] < HOURS * 3_600:
        at, _, sender = heapq.heappop(due)
        window.ask(sender.kind, 1, BEGIN + at)
        wait = window.seconds_until(sender.kind, 1, BEGIN + at)
        if wait <= 0:
            window.take(sender.kind, 1, BEGIN + at)
            sender.left, wait = sender.left - 1, ANSWER_SECONDS
            if sender.kind is RequestPriority.WATCH:
                sender.waits.append(at - sender.begin)
        if sender.left > 0:
            heapq.heappush(due, (at + wait + chance.uniform(0, 0.05), next(order), sender))
    return [sender for sender in senders if len(sender.waits) == REQUESTS_OF_A_READ]


def main() -> None:
    """Simulate, print the table."""
    print("| reads an hour | first place, half / 95 of a hundred | all three places, half / 95 of a hundred |")
    for reads_an_hour in (30, 60, 90):
        reads = simulated(reads_an_hour)
        cells = []
        for place in (0, -1):
            waits = sorted(read.waits[place] for read in reads)
            cells.append(f"{waits[len(waits) // 2]:.0f} / {waits[len(waits) * 95 // 100]:.0f} s")
        print(f"| {reads_an_hour} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
