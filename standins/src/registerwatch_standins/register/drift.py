"""How another build of the register would answer: with other names of fields, with codes that nobody has heard of."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from registerwatch_standins.register.wire.codes import Fields

Rename = Callable[[Fields, Sequence[str]], Fields]


def renamed_answer(body: bytes, rename: Rename, names: Sequence[str]) -> bytes:
    """An answer whose rows are renamed, or which itself is where it is a record."""
    answer = msgspec.json.decode(body)
    if isinstance(answer, list):
        return msgspec.json.encode([rename(row, names) for row in answer])
    rows = next((name for name in ("content", "value") if isinstance(answer.get(name), list)), None)
    if rows is None:
        return msgspec.json.encode(rename(answer, names))
    return msgspec.json.encode({**answer, rows: [rename(row, names) for row in answer[rows]]})


def _rename_fields(row: Fields, names: Sequence[str]) -> Fields:
    """All fields of a row, or those with these names at whatever depth."""

    def renamed(value: object) -> object:
        if isinstance(value, list):
            return [renamed(each) for each in value]
        if isinstance(value, dict):
            return {f"{name}V2" if name in names else name: renamed(each) for name, each in value.items()}
        return value

    return {f"{name}V2" if not names or name in names else name: renamed(value) for name, value in row.items()}


def _rename_codes(row: Fields, names: Sequence[str]) -> Fields:
    """Codes of all fields of a row, or of those with these names, at whatever depth below; the families stay."""

    def renamed(value: object) -> object:
        if isinstance(value, list):
            return [renamed(each) for each in value]
        if isinstance(value, dict):
            return {name: renamed(each) for name, each in value.items()}
        if isinstance(value, str) and value.startswith("refdata."):
            return f"{value.rpartition('.')[0]}.of-a-later-build"
        return value

    return {name: value if names and name not in names else renamed(value) for name, value in row.items()}


RENAMES: Mapping[str, Rename] = {"json-of-renamed-fields": _rename_fields, "unknown-codes": _rename_codes}
