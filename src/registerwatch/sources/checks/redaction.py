"""Removes personal data from a source's answers before they are kept. Pure.

The name of a field decides whether it is removed, with everything below it. A text that looks like an e-mail address is
removed anywhere. Nothing of a removed value is kept, whatever its form.
"""

import json
import re
from typing import Any
from urllib.parse import unquote

MAX_ROWS = 25
"""Elements that are kept of each list."""
MAX_DEPTH = 40

_PERSONAL_NAME = re.compile(
    r"e_?mail|electronic_?mail|phone|telefax|^fax|^validator|regulatory_?compliance|responsible|^prrc|updated_?by_?user"
    r"|created_?by_?user|contact_?(person|point|details)|(first|last|family|sur|given)_?name|person",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"[^\s@<>\"']{1,64}@[^\s@<>\"']{1,255}\.[^\s@<>\"']{2,}")
_KEY = re.compile(r"(subscription-key=)[^&#\s\"]+", re.IGNORECASE)


class Redaction:
    """Redacts one answer: `removed` are the names of the removed fields, `is_cut` says whether lists were cut."""

    def __init__(self) -> None:
        self.removed: set[str] = set()
        self.is_cut = False

    def of(self, answer: Any) -> Any:
        """An answer without personal data, its lists cut."""
        return self._of(answer, "", 0)

    def _of(self, value: Any, name: str, depth: int) -> Any:
        if value is not None and (depth > MAX_DEPTH or is_personal(name)):
            self.removed.add(name or "a value that lies too deep")
            return None
        if isinstance(value, dict):
            return {key: self._of(each, key, depth + 1) for key, each in value.items() if not _is_address(key)}
        if isinstance(value, list):
            self.is_cut = self.is_cut or len(value) > MAX_ROWS
            return [self._of(each, name, depth + 1) for each in value[:MAX_ROWS]]
        return self._text(value, name, depth) if isinstance(value, str) else value

    def _text(self, value: str, name: str, depth: int) -> str | None:
        """A text; one that holds JSON is looked into."""
        if value[:1] in ("{", "["):
            try:
                inner = json.loads(value)
            except (ValueError, RecursionError):
                inner = None
            if inner is not None and (kept := self._of(inner, name, depth + 1)) != inner:
                return json.dumps(kept, ensure_ascii=False)
        if _is_address(value):
            self.removed.add(name or "a text")
            return None
        return _KEY.sub(r"\1removed", value)


def is_personal(name: str) -> bool:
    """Whether a field of this name may hold data of a person."""
    return _PERSONAL_NAME.search(name) is not None


def without_key(text: str) -> str:
    """An address without its subscription key."""
    return _KEY.sub(r"\1removed", text)


def _is_address(text: str) -> bool:
    return "@" in (plain := unquote(text)) and _ADDRESS.search(plain) is not None
