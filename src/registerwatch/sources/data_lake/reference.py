"""The meanings of the ids in the Data Lake's columns: the register's codes, known here or read from `/reference`."""

import re
from collections.abc import Iterable, Mapping
from typing import Literal

from registerwatch.register.codes import LEGISLATION_PREFIX, RISK_PREFIX, SPECIAL_TYPE_PREFIX, STATUS_PREFIX
from registerwatch.sources.data_lake.wire import DeviceRow, ReferenceRow

CodedColumn = Literal["RISK_CLASS_ID", "APPLICABLE_LEGISLATION_ID", "DEVICE_STATUS_TYPE_ID", "SPECIAL_DEVICE_TYPE_ID"]

PREFIXES: Mapping[CodedColumn, str] = {
    "RISK_CLASS_ID": RISK_PREFIX,
    "APPLICABLE_LEGISLATION_ID": LEGISLATION_PREFIX,
    "DEVICE_STATUS_TYPE_ID": STATUS_PREFIX,
    "SPECIAL_DEVICE_TYPE_ID": SPECIAL_TYPE_PREFIX,
}
NOT_KNOWN = ""
"""The segment for an id which means that the register does not know the value."""

KNOWN: Mapping[CodedColumn, Mapping[int, str]] = {
    "RISK_CLASS_ID": {
        -203: "class-i", -204: "class-iia", -205: "class-iib", -10: "class-iii",
        -199: "class-a", -200: "class-b", -201: "class-c", -202: "class-d",
        -154: "aimdd", -155: "ivd-annex-ii-list-a", -156: "ivd-annex-ii-list-b",
        -157: "ivd-general", -219: "ivd-devices-self-testing",
    },
    "APPLICABLE_LEGISLATION_ID": {
        -197: "mdr", -198: "ivdr", -53: "mdd", -54: "aimdd", -55: "ivdd", -3020: "none", -3021: NOT_KNOWN,
    },
    "DEVICE_STATUS_TYPE_ID": {
        -11: "on-the-market", -12: "no-longer-on-the-market", -790: "not-intended-for-eu-market",
    },
    "SPECIAL_DEVICE_TYPE_ID": {
        -43: "mdr-software", -47: "ivdr-software", -44: "contact-lenses", -46: "contact-lenses",
        -1188: "lenses-made-to-order", -3030: "lenses-made-to-order", -1189: "spectacle-frames",
        -1190: "spectacle-lenses", -1191: "reading-spectacles",
        -1192: "software-under-a-directive", -1202: "software-under-a-directive",
    },
}  # fmt: skip
"""The last segments of codes, by column and id. Those of special types are invented here: the register's own are not
known."""

Reference = Mapping[CodedColumn, Mapping[int, str]]


def ids_of(row: DeviceRow) -> dict[CodedColumn, int | None]:
    """The ids in a row's coded columns."""
    return {
        "RISK_CLASS_ID": row.risk_class_id,
        "APPLICABLE_LEGISLATION_ID": row.applicable_legislation_id,
        "DEVICE_STATUS_TYPE_ID": row.device_status_type_id,
        "SPECIAL_DEVICE_TYPE_ID": row.special_device_type_id,
    }


def code_of(column: CodedColumn, number: int | None, reference: Reference) -> str:
    """The register's code for an id; an unknown id stays readable as `…unknown-<id>`. Empty for none."""
    if number is None:
        return ""
    segment = reference[column].get(number, f"unknown-{abs(number)}")
    return PREFIXES[column] + segment if segment else ""


def has_unknown_ids(rows: Iterable[DeviceRow], reference: Reference) -> bool:
    """Whether a row has an id that is not in the reference."""
    return any(
        number is not None and number not in reference[column] for row in rows for column, number in ids_of(row).items()
    )


def extended(rows: Iterable[ReferenceRow]) -> Reference:
    """The known ids, and those that `/reference` adds in English."""
    reference = {column: dict(known) for column, known in KNOWN.items()}
    for row in rows:
        column = next((each for each in PREFIXES if each == row.code), None)
        segment = _segment(row.value)
        if column is not None and row.id is not None and row.language == "en" and segment:
            reference[column].setdefault(row.id, segment)
    return reference


def _segment(value: str | None) -> str:
    """`Class IIa` as `class-iia`, so that the label of the code can be read."""
    return re.sub(r"[^0-9a-z]+", "-", (value or "").lower()).strip("-")[:60]
