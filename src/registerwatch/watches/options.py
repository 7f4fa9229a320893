"""Notes and options, which people set for a watch. Pure."""

import re
import unicodedata
from typing import Any

import msgspec

from registerwatch.errors import InvalidInput
from registerwatch.platform.structs import replace

MAX_NOTES_LENGTH = 4_000

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""Characters that notes may not have: invisible ones, and those that reverse the direction of the text after them."""


class WatchOptions(msgspec.Struct, frozen=True):
    """Options of a watch. Stored as JSON; others have their defaults here."""

    notifies: bool = True
    """Whether its events are sent to the account's webhooks. They are stored and listed in any case."""
    portfolio: bool = True
    """Whether the watch of a manufacturer reports its devices: new ones, and those that leave the market."""
    certificates: bool = True
    """Whether the watch of a manufacturer reports its certificates, and those that end soon."""


class OptionChange(msgspec.Struct, frozen=True):
    """Options of a watch to set; None leaves one as it is."""

    notifies: bool | None = None
    portfolio: bool | None = None
    certificates: bool | None = None

    def applied_to(self, options: WatchOptions) -> WatchOptions:
        """The options with these changes."""
        wanted = {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}
        return replace(options, **wanted)


def options_of(stored: str) -> WatchOptions:
    """Decode stored options. Options of a later release are left out."""
    return _decoder.decode(stored)


def with_options(stored: str, options: WatchOptions) -> str:
    """Options to store instead of the stored ones; options of a later release stay."""
    kept: dict[str, Any] = msgspec.json.decode(stored)
    return msgspec.json.encode({**kept, **msgspec.structs.asdict(options)}).decode()


def notes_of(text: str) -> str:
    """Notes as they are stored. Raises `InvalidInput` if they are too long."""
    lines = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    notes = unicodedata.normalize("NFC", lines).strip()
    if len(notes) > MAX_NOTES_LENGTH:
        raise InvalidInput(f"The notes have {len(notes):,} characters; {MAX_NOTES_LENGTH:,} fit.")
    return notes


_decoder = msgspec.json.Decoder(WatchOptions)
