"""The notice of all surfaces for an account whose period has ended: its watches are not read any more. Pure."""

import msgspec

from registerwatch.platform.clock import in_words

HEADLINE = "The period of the account has ended: its watches are not read any more"
IN_A_CELL = "period ended"


class EndedPeriod(msgspec.Struct, frozen=True):
    """The end of an account's period, in unix seconds. Each end of an account is a new value."""

    account_id: int
    at: int

    @classmethod
    def of(cls, account_id: int, expires_at: int, now: float) -> "EndedPeriod | None":
        """The end of a period; None while it runs."""
        return cls(account_id, expires_at) if now >= expires_at else None

    @property
    def name(self) -> str:
        """Equal for the same end, for ids of entries."""
        return f"period/{self.account_id}/{self.at}"

    def notice(self, zone_name: str = "UTC") -> str:
        """When it ended, and what follows for readers of watches."""
        return (
            f"The period of the account ended on {in_words(self.at, zone_name)}: its watches are not read any more."
            " That no change is shown since then does not mean that there was none."
        )


def in_a_cell(words: str, ended: EndedPeriod | None) -> str:
    """The state of a watch in a file, which is read without the page that it is from."""
    return words if ended is None else f"{words}; {IN_A_CELL}"
