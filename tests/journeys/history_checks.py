"""Compares what history says of records at moments of a simulated year with what was stored then.

The journal is kept between the steps of the year, when no read is under way. It needs a clock that nobody puts back:
else an instant is no moment.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from registerwatch.copy.history.history_reader import HistoryReader
from registerwatch.copy.history.record_history import RecordHistory
from registerwatch.platform.db.engine import Database
from registerwatch.register.models import DETAILS, FLAGS
from tests.journeys.event_checks import WrongYear
from tests.journeys.register_reads import is_srn

States = Mapping[str, Any]
EACH_STEP = 4
"""Subjects that are noted after a step."""


class HistoryChecks:
    """What was stored of subjects after steps, by instant."""

    def __init__(self, database: Database, rng: Random) -> None:
        self._reader = HistoryReader(database)
        self._rng = rng
        self._journal: defaultdict[str, dict[int, States]] = defaultdict(dict)
        self.compared = 0

    async def note(self, subjects: Sequence[str], now: float) -> None:
        """Note some subjects as they are stored now."""
        for subject in self._rng.sample(subjects, min(EACH_STEP, len(subjects))):
            history = await self._history(subject)
            self._journal[subject][int(now)] = {uuid: each.state for uuid, each in history.records.items()}

    async def compare(self) -> None:
        """Hold the history of every subject against the journal."""
        for subject, noted in self._journal.items():
            history = await self._history(subject)
            for instant, states in noted.items():
                said = history.as_of(instant)
                if not said.is_dropped and _but_first_values(said.states, states) != states:
                    raise WrongYear(f"{subject} is said to have been {said.states} at {instant}, but it was {states}")
                self.compared += not said.is_dropped

    async def _history(self, subject: str) -> RecordHistory:
        return await (self._reader.actor(subject) if is_srn(subject) else self._reader.device(subject))


def _but_first_values(said: States, was: States) -> States:
    """What is said of records, without flags and optional fields that were unknown at that time: a first value is no
    change (decision 66).
    """
    return {uuid: _known_then(state, was.get(uuid) or {}) for uuid, state in said.items()}


def _known_then(said: Any, was: Mapping[str, Any]) -> Any:
    if not isinstance(said, dict):
        return said
    kept = {name: value for name, value in said.items() if name not in DETAILS or name in was}
    if "characteristics" in kept:  # each of its flags is such a field
        known = was["characteristics"]
        kept["characteristics"] = {name: value for name, value in kept["characteristics"].items() if name in known}
    if "special_type" in kept and "code" not in was["special_type"]:  # the Data Lake's word, which has no code
        kept["special_type"] = was["special_type"]
    return kept | {name: None for name in FLAGS if was.get(name, ...) is None}
