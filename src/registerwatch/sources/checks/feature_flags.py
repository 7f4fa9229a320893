"""Feature flags of the register, read from `/configurationParameters`. Pure.

Their names and values were measured. The form of the answer was not published, so several forms are read.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from registerwatch.sources.checks.outcomes import CheckResult, found

_ON = (
    "ffDevice ffNomenclature ffNews ffCertificate ffNotifiedBodies ffSscpi ffRelatedDevice ffAccessibilityStatement"
    " ffPublicDataApiFunction"
)
_OFF = "ffVigFsn ffSponsor ffDeviceSubStatus"
KNOWN_FLAGS: Mapping[str, bool] = dict.fromkeys(_OFF.split(), False) | dict.fromkeys(_ON.split(), True)
"""The flags as they were in August 2026. Those whose switching on means new data come first."""

_MEANINGS = {
    "ffVigFsn": "EUDAMED publishes field safety notices now, and this release does not read them",
    "ffSponsor": "EUDAMED publishes sponsors of clinical investigations now, and this release does not read them",
    "ffDeviceSubStatus": "EUDAMED publishes recalls and other sub-statuses of devices now, and this release does not"
    " read them",
}
"""Meanings of these flags when on."""
_NAME_KEYS = ("name", "code", "key")
_VALUE_KEYS = ("value", "enable", "enabled", "isEnabled", "active", "on")
_AROUND = ("flags", "content", "parameters", "configurationParameters")
_WORDS = {"true": True, "1": True, "on": True, "yes": True, "false": False, "0": False, "off": False, "no": False}
_FLAG = re.compile(r"[A-Za-z][0-9A-Za-z._-]{0,63}")


def read_flags(answer: object) -> dict[str, bool]:
    """The flags in an answer, by name; none where its form is unknown. Values other than on and off are left out.

    Forms that are read: a list of objects with a name and a value, an object by name, either of them in `flags`.
    """
    return {name: is_on for name, is_on in _pairs(answer) if _FLAG.fullmatch(name)}


def judge_flags(answer: object) -> CheckResult:
    """Whether the same flags are on as before. The result names each flag that is not as known."""
    flags = read_flags(answer)
    if not flags:
        return CheckResult(False, "It names no flags in a form that is known.")
    sentences = [*_known_ones(flags), *(f"{name} is new and {_on(flags[name])}." for name in flags if _is_new(name))]
    if sentences:
        return found(False, " ".join(sentences))
    off = sorted(name for name, is_on in flags.items() if not is_on)  # in one order, whatever the answer's order
    return found(True, f"{len(flags) - len(off)} on, {len(off)} off: {', '.join(off)}.")


def _known_ones(flags: Mapping[str, bool]) -> Iterator[str]:
    for name, was_on in KNOWN_FLAGS.items():
        if name not in flags:
            yield f"{name} is missing (it was {_on(was_on)})."
        elif flags[name] is not was_on:
            meaning = f": {_MEANINGS[name]}" if flags[name] and name in _MEANINGS else ""
            yield f"{name} is {_on(flags[name])} (it was {_on(was_on)}){meaning}."


def _is_new(name: str) -> bool:
    """Whether a feature flag is unknown. Parameters that are not feature flags are not watched."""
    return name.startswith("ff") and name not in KNOWN_FLAGS


def _on(is_on: bool) -> str:
    return "on" if is_on else "off"


def _pairs(answer: object) -> Iterator[tuple[str, bool]]:
    if isinstance(answer, list):
        for each in answer:
            yield from _pair_of(each)
    elif isinstance(answer, dict):
        around = next((name for name in _AROUND if isinstance(answer.get(name), (list, dict))), None)
        if around is not None:
            yield from _pairs(answer[around])
            return
        for name, value in answer.items():
            is_on = _state(value)
            if is_on is not None:
                yield str(name), is_on


def _pair_of(entry: object) -> Iterator[tuple[str, bool]]:
    """The name and value of an object in a list."""
    if not isinstance(entry, dict):
        return
    name = next((entry[key] for key in _NAME_KEYS if isinstance(entry.get(key), str)), None)
    is_on = _state(entry)
    if name is not None and is_on is not None:
        yield name, is_on


def _state(value: Any) -> bool | None:
    """Whether a value means on or off; None where it means neither. One field of an object says it."""
    if isinstance(value, dict):
        states = (_state(value[key]) for key in _VALUE_KEYS if key in value and not isinstance(value[key], dict))
        return next((each for each in states if each is not None), None)
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return bool(value) if value in (0, 1) else None
    return _WORDS.get(value.strip().lower()) if isinstance(value, str) else None
