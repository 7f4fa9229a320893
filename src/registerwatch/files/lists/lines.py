"""Stored lines of lists, matched with the copy."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import asdict
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy.records import RecordStore
from registerwatch.copy.standings import stored_standings
from registerwatch.files.lists.line_match import Known, Match, ReadLine

DUE_AGAIN_SECONDS = 24 * 3600
"""How long until a line is matched again, if the copy does not have it under the code itself."""


async def known_of(connection: AsyncConnection, copy: RecordStore, lines: Sequence[ReadLine]) -> Known:
    """What the copy has of everything that lines can mean. Other codes of devices are searched only for lines without
    a match.
    """
    stored = await stored_standings(connection, {each for line in lines for each in line.spellings})
    missing = {each for line in lines if stored.keys().isdisjoint(line.spellings) for each in line.spellings}
    coded = await copy.coded(connection, sorted(missing))
    owners = {udi for udis in coded.values() for udi in udis}.difference(stored)
    return Known({**stored, **await stored_standings(connection, owners)}, coded)


def row_of(
    upload_id: int, number: int, line: ReadLine, cells: Sequence[str], found: Match, now: int
) -> dict[str, object]:
    """A line as a row of `list_lines`. `cells` are all but the code."""
    return {
        "upload_id": upload_id,
        "number": number,
        "code": line.code,
        "cells": msgspec.json.encode(cells).decode(),
        "key": line.key,
        "nth": 1,
        "due_at": due_at(line, found, now),
        **asdict(found),
    }


def due_at(line: ReadLine, found: Match, now: int) -> int | None:
    """When to match a line again, in unix seconds; None if the copy has it under the code itself, or it is not a code.
    Other lines can match something else once the copy has more.
    """
    is_settled = found.subject in line.spellings and found.standing != "unknown"
    return None if is_settled or line.meant is None else now + DUE_AGAIN_SECONDS
