"""Faults that the stand-in can be told to show: which requests, from which on, how many of them, and how."""

import time
from collections import deque
from collections.abc import Callable, Collection, Iterator
from typing import Any, Literal, TypeVar, get_args

from msgspec import Struct
from msgspec.structs import replace

Kind = Literal[
    "search",
    "detail",
    "basic",
    "basic-devices",
    "nomenclature",
    "actor-search",
    "actor",
    "certificates",
    "certificate",
    "document",
    "refusals",
    "bodies",
    "build",
    "flags",
    "datalake",
    "any",
]
Mode = Literal[
    "redirect-302",
    "throttled-429",
    "throttled-307-html",
    "empty-page",
    "html-200",
    "web-filter-200",
    "web-filter-403",
    "broken-json",
    "http-400",
    "http-500",
    "http-502",
    "http-503",
    "http-504",
    "timeout",
    "stalled-body",
    "connection-reset",
    "ignored-filter",
    "wrong-rows",
    "wrong-record",
    "huge-body",
    "json-of-wrong-shape",
    "json-of-null-fields",
]
REGISTER_KINDS = frozenset(get_args(Kind)) - {"datalake", "any"}
Drift = Literal["renamed-filter", "json-of-renamed-fields", "unknown-codes", "no-rows"]
"""Ways in which another build of the register may answer, and a well-formed page without rows. Each is a good answer to
whom the difference is nothing.
"""
Slowness = Literal["slow-answer", "slow-body"]
"""The true answer, which begins late or arrives piece by piece."""
_STARTS: dict[str, Kind] = {
    "/datalake": "datalake",
    "/eudamed/devices/basicUdiData/udiDiData/": "basic",
    "/eudamed/devices/basicUdiData/": "basic-devices",
    "/eudamed/devices/nomenclatures": "nomenclature",
    "/eudamed/devices/udiDiData/": "detail",
    "/eudamed/devices/udiDiData": "search",
    "/eudamed/eos": "actor-search",
    "/eudamed/actors/": "actor",
    "/eudamed/certificates/search": "certificates",
    "/eudamed/certificates/": "certificate",
    "/eudamed/documents/": "document",
    "/eudamed/applications/": "refusals",
    "/eudamed/ses/notifiedBodies": "bodies",
    "/eudamed/applicationInfo": "build",
    "/eudamed/configurationParameters": "flags",
}


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """One fault.

    It concerns requests of a `kind` whose path and query hold `contains`; it lets the first `skip` of them pass and
    then shows `mode` for `times` of them (`None`: for good). `retry_after` (seconds) goes with `throttled-429`;
    `size` (bytes) goes with `huge-body`, `seconds` with `slow-answer` and `slow-body`: how long the answer takes to
    begin, or to arrive. `names` go with drift: the filters, the fields or the fields with a code that
    are renamed; all where there are none.
    """

    kind: Kind
    mode: Mode | Drift | Slowness
    skip: int = 0
    times: int | None = None
    contains: str = ""
    retry_after: int | None = None
    size: int = 50_000_000
    seconds: float = 0
    names: tuple[str, ...] = ()


class Happening(Struct, frozen=True):
    """What is done before requests of a `kind` are answered, with `contains`, `skip` and `times` as in a rule."""

    kind: Kind
    action: Callable[[], object]
    skip: int = 0
    times: int | None = 1
    contains: str = ""


class Tolerance:
    """So many requests of some kinds are answered in any minute; those beyond meet a fault, and count as well."""

    def __init__(self, per_minute: int, fault: Rule, kinds: Collection[Kind], clock: Callable[[], float]) -> None:
        self._per_minute = per_minute
        self._fault = fault
        self._kinds = kinds
        self._clock = clock
        self._arrivals: deque[float] = deque()

    def take(self, kind: Kind) -> Rule | None:
        """The fault of a request that is one too many."""
        if kind not in self._kinds:
            return None
        now = self._clock()
        while self._arrivals and self._arrivals[0] <= now - 60:
            self._arrivals.popleft()
        self._arrivals.append(now)
        return self._fault if len(self._arrivals) > self._per_minute else None


Limited = TypeVar("Limited", Rule, Happening)


class Faults:
    """The rules in force. The first rule that concerns a request and has not run out decides."""

    def __init__(self, *rules: Rule) -> None:
        self._rules = list(rules)
        self._happenings: list[Happening] = []
        self._tolerance: Tolerance | None = None

    def tolerate(
        self,
        per_minute: int,
        mode: Mode = "throttled-429",
        *,
        kinds: Collection[Kind] = REGISTER_KINDS,
        clock: Callable[[], float] = time.monotonic,
        **limits: Any,
    ) -> None:
        """Answer so many requests in any minute, all kinds of the register taken together, and throttle the others."""
        self._tolerance = Tolerance(per_minute, Rule("any", mode, **limits), kinds, clock)

    def add(self, rule: Rule) -> None:
        """Add a rule behind the others."""
        self._rules.append(rule)

    def fail(self, kind: Kind, mode: Mode | Drift | Slowness, **limits: Any) -> None:
        """Add a rule of these values behind the others."""
        self.add(Rule(kind, mode, **limits))

    def before(self, kind: Kind, action: Callable[[], object], **limits: Any) -> None:
        """Let something happen, such as a change of the world between two pages, before a request is answered: once."""
        self._happenings.append(Happening(kind, action, **limits))

    def clear(self) -> None:
        """Drop all rules, and all that would happen, and tolerate any number of requests."""
        self._tolerance = None
        self._rules.clear()
        self._happenings.clear()

    def arrive(self, kind: Kind, target: str) -> None:
        """A request of this kind with this path and query is about to be answered."""
        for happening in _due(self._happenings, kind, target):
            happening.action()

    def take(self, kind: Kind, target: str) -> Rule | None:
        """The rule that decides a request of this kind with this path and query; it is used up by one."""
        refusal = self._tolerance.take(kind) if self._tolerance else None
        return refusal or next(_due(self._rules, kind, target), None)


def _due(limited: list[Limited], kind: Kind, target: str) -> Iterator[Limited]:
    """Those that concern a request; each that is taken is used up by one, and each that is to skip it skips."""
    for each in list(limited):
        if each.kind not in (kind, "any") or each.contains not in target:
            continue
        place = next(at for at, other in enumerate(limited) if other is each)
        if each.skip > 0:
            limited[place] = replace(each, skip=each.skip - 1)
            continue
        if each.times is not None:
            limited[place : place + 1] = [replace(each, times=each.times - 1)] if each.times > 1 else []
        yield each


def kind_of(path: str) -> Kind:
    """The kind of request that a path of the stand-in is."""
    return next((kind for start, kind in _STARTS.items() if path.startswith(start)), "any")
