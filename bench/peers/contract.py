"""What a peer does: answer a question as well as it can, with the top 8 and the exact count."""

from typing import Protocol

from bench.questions import ApiRequest

ROWS = 8
UNCOUNTED = -1
"""What is given for the count by a peer that is asked for rows alone."""


class Peer(Protocol):
    """One peer, loaded with the rows."""

    name: str

    def search(self, question: ApiRequest) -> int | None:
        """Find the first rows and count all; the count. None when it cannot answer such a question."""
