"""What the register's answers are made of: codes (a `refdata.…` prefix and a name), texts, countries, keys.

`constant_fields.json` has, for each kind of answer, the fields that the stand-in always sends alike.
"""

from datetime import datetime
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import Any

import msgspec

from registerwatch_standins.register.countries import LANGUAGE_NAMES, country_name, country_type
from registerwatch_standins.register.records import ACTOR_TYPES, BRUSSELS

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
REGISTERED = {"code": "refdata.eudamed-entity-version-status.registered"}


Fields = dict[str, Any]


@cache
def constant_fields(kind: str) -> Fields:
    """The fields of this kind of answer that are always the same."""
    content = files("registerwatch_standins.register.wire").joinpath("constant_fields.json").read_bytes()
    return msgspec.json.decode(content, type=dict[str, Fields])[kind]


def code(family: str, name: str) -> dict[str, str]:
    """`{"code": "refdata.risk-class.class-iia"}`."""
    return {"code": f"refdata.{family}.{name}"}


def code_or_null(family: str, name: str | None) -> dict[str, str] | None:
    """The same, null for no name."""
    return code(family, name) if name else None


def certificate_type(name: str) -> dict[str, str]:
    """The code of a certificate type such as `MDD_II_EX_4` or `MDR_QUALITY_MANAGEMENT_SYSTEM`."""
    legislation, _, rest = name.partition("_")
    kind = rest.lower().replace("_", "-")
    if legislation in ("MDR", "IVDR"):
        return code(f"certificate-{legislation.lower()}-type", kind)
    return code(f"legacy.{legislation.lower()}-certificate-type", kind)


def actor_type(role: str) -> dict[str, str]:
    """The type of an actor, from the middle part of its SRN."""
    name = ACTOR_TYPES.get(role, role.lower())
    return {**code("actor-type", name), "srnCode": role, "category": "ECONOMIC_ENTITY"}


def texts(by_language: dict[str, str]) -> Fields:
    """A multilingual text."""
    return {"texts": [text(language, content) for language, content in by_language.items()]}


def text(language: str | None, content: str) -> Fields:
    """One text; without a language it holds for all."""
    if language is None:
        return {"language": None, "text": content, "allLanguagesApplicable": True}
    name = LANGUAGE_NAMES.get(language, language)
    return {"language": {"isoCode": language, "name": name}, "text": content, "allLanguagesApplicable": None}


def country(iso2: str) -> Fields:
    """A country."""
    kind = country_type(iso2)
    outside = kind == "NON_EU_MEMBER_STATE"
    return {"name": country_name(iso2), "type": kind, "iso2Code": iso2, "nonEUMemberState": outside}


def derived_uuid(*parts: str) -> str:
    """A uuid for a part of a record, the same each time."""
    digits = blake2b("/".join(parts).encode(), digest_size=16).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-9{digits[17:20]}-{digits[20:]}"


def derived_ulid(*parts: str, moment: str = "") -> str:
    """A ULID for a record or a part of one, the same each time whatever changes in the record.

    It begins with the moment at which the record was made, or with any of this time.
    """
    value = int.from_bytes(blake2b("/".join(parts).encode(), digest_size=16).digest())
    known = int(datetime.fromisoformat(moment).replace(tzinfo=BRUSSELS).timestamp() * 1000) if moment else 0
    value = (known or 1 << 40 | value >> 88) << 80 | value & (1 << 80) - 1
    return "".join(_CROCKFORD[(value >> shift) & 31] for shift in range(125, -5, -5))


def timestamp(moment: str) -> str:
    """A moment as the register sends it, with as many digits of a fraction as it needs: none to three."""
    return moment.rstrip("0").rstrip(".") if "." in moment else moment


def midnight(day: str | None) -> str | None:
    """A date as the certificate searches send it."""
    return None if day is None else f"{day}T00:00:00"
