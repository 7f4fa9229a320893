"""Faults that the stand-in can be told to show: which requests, from which on, how many of them, and how."""

from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

Kind = Literal["search", "detail", "basic", "actor-search", "actor", "certificates", "datalake", "any"]
Mode = Literal[
    "redirect-302",
    "throttled-429",
    "throttled-307-html",
    "empty-page",
    "html-200",
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
_STARTS: dict[str, Kind] = {
    "/datalake": "datalake",
    "/eudamed/devices/basicUdiData/": "basic",
    "/eudamed/devices/udiDiData/": "detail",
    "/eudamed/devices/udiDiData": "search",
    "/eudamed/eos": "actor-search",
    "/eudamed/actors/": "actor",
    "/eudamed/certificates": "certificates",
}


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """One fault.

    It concerns requests of a `kind` whose path and query hold `contains`; it lets the first `skip` of them pass and
    then shows `mode` for `times` of them (`None`: for good). `retry_after` (seconds) goes with `throttled-429`;
    `size` (bytes) goes with `huge-body`.
    """

    kind: Kind
    mode: Mode
    skip: int = 0
    times: int | None = None
    contains: str = ""
    retry_after: int | None = None
    size: int = 50_000_000


class Faults:
    """The rules in force. The first rule that concerns a request and has not run out decides."""

    def __init__(self, *rules: Rule) -> None:
        self._rules = list(rules)

    def fail(self, kind: Kind, mode: Mode, **limits: Any) -> None:
        """Add a rule behind the others."""
        self._rules.append(Rule(kind, mode, **limits))

    def clear(self) -> None:
        """Drop all rules."""
        self._rules.clear()

    def take(self, kind: Kind, target: str) -> Rule | None:
        """The rule that decides a request of this kind with this path and query; it is used up by one."""
        for place, rule in enumerate(self._rules):
            if rule.kind not in (kind, "any") or rule.contains not in target:
                continue
            if rule.skip > 0:
                self._rules[place] = replace(rule, skip=rule.skip - 1)
                continue
            if rule.times is not None:
                left = replace(rule, times=rule.times - 1)
                self._rules[place : place + 1] = [left] if rule.times > 1 else []
            return rule
        return None


def kind_of(path: str) -> Kind:
    """The kind of request that a path of the stand-in is."""
    return next((kind for start, kind in _STARTS.items() if path.startswith(start)), "any")
