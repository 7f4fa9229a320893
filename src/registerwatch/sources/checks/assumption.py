"""The form of an assumption about a source."""

import msgspec

from registerwatch.sources.checks.names import CheckName


class Assumption(msgspec.Struct, frozen=True):
    """One thing that is relied on, or was measured, of how a source answers.

    `title` is its line on the page `/status`, `relied_on` the sentence that holds, `source` the section of the
    description of the register that has it, `requests` how many requests its check sends beside those of the checks
    before it. `if_differs` says what a difference means for the service, and what to do. `daily` assumptions are
    checked in the background, the others only by an operator.
    """

    name: CheckName
    title: str
    relied_on: str
    source: str
    requests: int
    if_differs: str
    is_daily: bool = True


SEND = "Please send us the recording (`--record FOLDER`)."
NO_LIST = "Nothing is stored from lists that rely on it until it holds again; what is stored is served as before."
NO_EFFECT = "Nothing relies on it, so nothing changes for the service."
