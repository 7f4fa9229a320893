"""Tones of what the register says of a device or an actor: `good`, `warn`, `bad`, `none`."""

from collections.abc import Mapping

from registerwatch.register.codes import StatusFilter, segment

_MARKET: Mapping[str, str] = {
    StatusFilter.ON.code: "good",
    StatusFilter.OFF.code: "warn",
    StatusFilter.NOT_EU.code: "bad",
}
_ACTOR = {"active": "good", "inactive": "warn"}
_CERTIFICATE = {
    **dict.fromkeys(("issued", "supplemented", "amended", "reissued", "reinstated"), "good"),
    "restricted": "warn",
    **dict.fromkeys(("suspended", "withdrawn", "cancelled", "expired"), "bad"),
}


def market_tone(code: str) -> str:
    """Of a market status. Who buys for the EU may not get a device that is not intended for it."""
    return _MARKET.get(code, "none")


def certificate_tone(code: str) -> str:
    """Of the register's status of a certificate."""
    return _CERTIFICATE.get(segment(code), "none")


def actor_tone(code: str) -> str:
    """Of the status of an actor."""
    return _ACTOR.get(segment(code), "none")
