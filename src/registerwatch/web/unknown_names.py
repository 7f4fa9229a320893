"""Refuses unknown names: fields of bodies, arguments of tools, parameters of queries.

If a misspelt name were ignored, the result would look like the one that was asked for. Pure.
"""

from collections.abc import Collection, Sequence
from difflib import get_close_matches
from typing import Literal

import msgspec

MAX_NAMED = 5
"""Unknown names in one message: a body can have thousands."""
MAX_NAME_LENGTH = 80

Kind = Literal["field", "argument", "parameter"]

_object = msgspec.json.Decoder(dict[str, msgspec.Raw])


def unknown_names(sent: Collection[str], known: Collection[str]) -> Sequence[str]:
    """The unknown ones of the names, in the order in which they were sent."""
    return [name for name in sent if name not in known]


def unknown_message(kind: Kind, unknown: Sequence[str], known: Collection[str]) -> str:
    """A sentence for each unknown name, with the nearest known one; where none is near, all known ones at the end."""
    sentences, is_nearest_missing = [], False
    for name in unknown[:MAX_NAMED]:
        sentences.append(f"There is no {kind} `{shown(name)}` here.")
        nearest = get_close_matches(shown(name).lower(), known, n=1)
        sentences += [f"Did you mean `{each}`?" for each in nearest]
        is_nearest_missing |= not nearest
    if known and is_nearest_missing:
        sentences.append(f"There are {', '.join(f'`{each}`' for each in known)}.")
    return " ".join(sentences)


def shown(name: str) -> str:
    """A name from a client for a message: cut, and without what UTF-8 cannot have."""
    return name[:MAX_NAME_LENGTH].encode("utf-8", "replace").decode()


def field_names(body: bytes) -> Sequence[str]:
    """The names of the fields of a body; none where it is not a JSON object."""
    try:
        return list(_object.decode(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ()
