"""The SQL of the lines of lists. Functions run in the transaction of the connection that they are given.

A statement that searches words or compares uploads reads the cells of every line: up to 24 MiB of an upload.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import Any

import msgspec
from msgspec.structs import asdict
from sqlalchemy import (
    CTE,
    ColumnElement,
    Row,
    Select,
    String,
    and_,
    bindparam,
    case,
    cast,
    exists,
    func,
    insert,
    literal,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.files.lists.line_match import Match
from registerwatch.files.lists.models import Coverage, CoverageCounts, Differences, LineFilter, ListLine, SubjectCounts
from registerwatch.files.lists.tables import list_lines
from registerwatch.files.tables.cells import one_line
from registerwatch.platform.db.text_search import holds_word
from registerwatch.watches.tables import watches

MAX_WORDS = 8
"""The most words of a search; each is searched in all lines."""


class DueLine(msgspec.Struct, frozen=True):
    """A line to match again."""

    upload_id: int
    number: int
    code: str


_row = list_lines.c
_cells = msgspec.json.Decoder(list[str])

_SET_MATCH = (
    update(list_lines)
    .where(_row.upload_id == bindparam("of_upload"), _row.number == bindparam("of_number"))
    .values(
        {
            name: bindparam(f"new_{name}")
            for name in ("subject", "standing", "reason", "certified_until", "certs_read", "due_at")
        }
    )
)
_SET_STANDING = (
    update(list_lines)
    .where(_row.subject == bindparam("of_subject"))
    .values(
        standing=bindparam("new_standing"),
        reason="",
        certified_until=bindparam("new_until"),
        certs_read=bindparam("new_read"),
    )
)


async def last_number(connection: AsyncConnection, upload_id: int) -> int:
    """The number of the last stored line, 0 without any."""
    found = select(func.coalesce(func.max(_row.number), 0)).where(_row.upload_id == upload_id)
    return int((await connection.execute(found)).scalar_one())


async def keys_among(connection: AsyncConnection, upload_id: int, keys: Collection[str]) -> set[str]:
    """The keys among these that lines of an upload have."""
    found = select(_row.key).where(_row.upload_id == upload_id, _row.key.in_(sorted(keys))).distinct()
    return set((await connection.execute(found)).scalars())


async def add(connection: AsyncConnection, rows: Sequence[Mapping[str, object]]) -> None:
    """Store new lines."""
    await connection.execute(insert(list_lines), rows)


async def number_keys(connection: AsyncConnection, upload_id: int) -> None:
    """Number the lines that share a key, in their order."""
    several = select(_row.key).where(_row.upload_id == upload_id).group_by(_row.key).having(func.count() > 1)
    nth = func.row_number().over(partition_by=_row.key, order_by=_row.number)
    rows = select(_row.number, nth.label("nth")).where(_row.upload_id == upload_id, _row.key.in_(several))
    numbered = [{"of_number": row.number, "new_nth": row.nth} for row in await connection.execute(rows) if row.nth > 1]
    if numbered:
        set_nth = update(list_lines).where(_row.upload_id == upload_id, _row.number == bindparam("of_number"))
        await connection.execute(set_nth.values(nth=bindparam("new_nth")), numbered)


async def counts(
    connection: AsyncConnection, account_id: int, upload_ids: Collection[int], today: date
) -> dict[int, CoverageCounts]:
    """How many lines of each upload have each coverage on a day."""
    coverage = coverage_on(today).label("coverage")
    unread = and_(coverage_on(today) == "found", _row.certs_read.is_(False))
    counted = (
        select(
            _row.upload_id,
            coverage,
            func.count(),
            func.sum(case((_watched(account_id), 1), else_=0)),
            func.sum(case((unread, 1), else_=0)),
        )
        .where(_row.upload_id.in_(upload_ids))
        .group_by(_row.upload_id, coverage)
    )
    found: dict[int, list[tuple[Coverage, int, int, int]]] = {upload_id: [] for upload_id in upload_ids}
    for upload_id, *counts_of in await connection.execute(counted):
        found[upload_id].append(tuple(counts_of))
    return {
        upload_id: CoverageCounts(
            {each[0]: each[1] for each in rows}, sum(each[2] for each in rows), sum(each[3] for each in rows)
        )
        for upload_id, rows in found.items()
    }


async def page(
    connection: AsyncConnection,
    account_id: int,
    upload_id: int,
    chosen: LineFilter,
    today: date,
    *,
    beside: int | None = None,
    after: int = 0,
    limit: int,
    offset: int = 0,
) -> tuple[list[ListLine], int]:
    """Lines of an upload that match a filter, in the order of the file, after a line number; and how many match in all.
    `beside` is the upload that a filter by change compares with. The matching lines are searched once.
    """
    matching = _matching(account_id, upload_id, chosen, today, beside)
    counted = select(func.count().label("total")).select_from(matching).subquery("counted")
    after_it = select(matching.c.number).where(matching.c.number > after).order_by(matching.c.number)
    shown = after_it.limit(limit).offset(offset).subquery("shown")
    found = select(counted.c.total, shown.c.number).select_from(counted.outerjoin(shown, true()))
    rows = (await connection.execute(found)).all()
    shown_numbers = [row.number for row in rows if row.number is not None]
    return await numbered(connection, account_id, upload_id, shown_numbers, today), rows[0].total


async def numbers(
    connection: AsyncConnection, account_id: int, upload_id: int, chosen: LineFilter, today: date
) -> Sequence[int]:
    """The numbers of all lines that match a filter, in the order of the file."""
    matching = _matching(account_id, upload_id, chosen, today, None)
    joined = select(func.aggregate_strings(cast(matching.c.number, String), ","))  # faster than 50,000 rows
    found: str | None = (await connection.execute(joined)).scalar_one()
    return sorted(map(int, found.split(","))) if found else []


async def numbered(
    connection: AsyncConnection, account_id: int, upload_id: int, numbers: Sequence[int], today: date
) -> list[ListLine]:
    """The lines of an upload with these numbers, in the order of the file."""
    found = _lines(account_id, today).where(_row.upload_id == upload_id, _row.number.in_(numbers))
    return [_line(row) for row in await connection.execute(found.order_by(_row.number))]


async def subjects(
    connection: AsyncConnection, account_id: int, upload_id: int, chosen: LineFilter, today: date
) -> Sequence[str]:
    """The subjects of lines that match a filter, each once, in the order of the file."""
    matching = _matching(account_id, upload_id, chosen, today, None)
    found = select(matching.c.subject).where(matching.c.subject.is_not(None)).group_by(matching.c.subject)
    return list((await connection.execute(found.order_by(func.min(matching.c.number)))).scalars())


async def count_subjects(
    connection: AsyncConnection, account_id: int, upload_id: int, chosen: LineFilter, today: date
) -> SubjectCounts:
    """How many subjects the lines that match a filter have, and how many of these are watched."""
    subject = _matching(account_id, upload_id, chosen, today, None).c.subject
    is_watched = exists().where(watches.c.account_id == account_id, watches.c.subject == subject)
    counted = select(func.count(subject.distinct()), func.count(case((is_watched, subject)).distinct()))
    found = (await connection.execute(counted)).one()
    return SubjectCounts(found[0], found[1])


async def differences(connection: AsyncConnection, upload_id: int, before: int) -> Differences:
    """How an upload differs from the one before it."""
    old = list_lines.alias("old")
    change = _change(upload_id, before)
    counted = select(change.label("change"), func.count()).where(_row.upload_id == upload_id).group_by("change")
    of: dict[str, int] = {row[0]: row[1] for row in await connection.execute(counted)}
    is_there = exists().where(_row.upload_id == upload_id, _row.key == old.c.key, _row.nth == old.c.nth)
    gone = select(func.count()).select_from(old).where(old.c.upload_id == before, ~is_there)
    number = int((await connection.execute(gone)).scalar_one())
    return Differences(of.get("new", 0), of.get("changed", 0), of.get("same", 0), number)


async def gone(
    connection: AsyncConnection, account_id: int, upload_id: int, before: int, today: date, limit: int
) -> list[ListLine]:
    """Lines of an upload that a later one no longer has, in their order."""
    later = list_lines.alias("later")
    is_there = exists().where(later.c.upload_id == upload_id, later.c.key == _row.key, later.c.nth == _row.nth)
    found = _lines(account_id, today).where(_row.upload_id == before, ~is_there).order_by(_row.number)
    return [_line(row) for row in await connection.execute(found.limit(limit))]


async def due(connection: AsyncConnection, now: int, limit: int) -> list[DueLine]:
    """Lines to match again, the longest waiting first."""
    found = select(_row.upload_id, _row.number, _row.code).where(_row.due_at <= now)
    rows = await connection.execute(found.order_by(_row.due_at).limit(limit))
    return [DueLine(*row) for row in rows]


async def set_matches(
    connection: AsyncConnection, lines: Sequence[DueLine], matches: Sequence[tuple[Match, int | None]]
) -> None:
    """Store matches of due lines and when they are due again. The caller has held the uploads' lock since reading."""
    rows = [
        {
            "of_upload": line.upload_id,
            "of_number": line.number,
            "new_due_at": due_at,
            **{f"new_{name}": value for name, value in asdict(found).items()},
        }
        for line, (found, due_at) in zip(lines, matches, strict=True)
    ]
    if rows:
        await connection.execute(_SET_MATCH, rows)


async def listed_subjects(connection: AsyncConnection, udis: Collection[str]) -> set[str]:
    """The UDI-DIs among these that are in lists."""
    found = select(_row.subject).where(_row.subject.in_(sorted(udis))).distinct()
    return set((await connection.execute(found)).scalars())


async def set_standings(connection: AsyncConnection, matches: Sequence[Match]) -> None:
    """Store the present standings of subjects, in every list."""
    rows = [
        {
            "of_subject": each.subject,
            "new_standing": each.standing,
            "new_until": each.certified_until,
            "new_read": each.certs_read,
        }
        for each in matches
    ]
    if rows:
        await connection.execute(_SET_STANDING, rows)


def coverage_on(today: date) -> ColumnElement[Coverage]:
    """The coverage of a line on a day."""
    has_ended = and_(_row.standing == "found", _row.certified_until < today.isoformat())
    return case((has_ended, literal("certificate_ended")), else_=_row.standing)


def _lines(account_id: int, today: date) -> Select[Any]:
    names = ("number", "code", "cells", "subject", "reason", "certified_until", "certs_read")
    coverage, watched = coverage_on(today).label("coverage"), _watched(account_id).label("is_watched")
    return select(*(_row[name] for name in names), coverage, watched)


def _matching(account_id: int, upload_id: int, chosen: LineFilter, today: date, beside: int | None) -> CTE:
    """The numbers and subjects of the lines that match, computed once in a statement that uses them several times.

    Texts are put into lower case once, not for each word: `OFFSET 0` stops both databases from moving the conditions
    into the inner statement. `MATERIALIZED` there would write all texts into a temporary file. A join would compare
    each line with each while PostgreSQL has no statistics of a new upload.
    """
    found = select(_row.number, _row.subject).where(_row.upload_id == upload_id)
    if chosen.coverage is not None:
        found = found.where(coverage_on(today) == chosen.coverage)
    if chosen.is_watched is not None:
        found = found.where(_watched(account_id) if chosen.is_watched else ~_watched(account_id))
    if chosen.change is not None:
        found = found.where(_change(upload_id, beside or 0) == chosen.change)
    words = list(dict.fromkeys(one_line(chosen.text).split()))[:MAX_WORDS]  # as cells are stored
    if words:
        text = func.lower(_row.code + " " + _row.cells).label("text")
        read = found.add_columns(_row.code, text).offset(0).subquery("read")
        found = select(read.c.number, read.c.subject).where(*(_has(read.c.code, read.c.text, word) for word in words))
    return found.cte("matching").prefix_with("MATERIALIZED")


def _has(code: ColumnElement[str], text: ColumnElement[str], word: str) -> ColumnElement[bool]:
    in_json = msgspec.json.encode(word).decode()[1:-1]
    found = holds_word(text, in_json)
    return found if in_json == word else or_(found, holds_word(func.lower(code), word))  # a code is not JSON


def _watched(account_id: int) -> ColumnElement[bool]:
    return exists().where(watches.c.account_id == account_id, watches.c.subject == _row.subject)


def _change(upload_id: int, before: int) -> ColumnElement[str]:
    old = list_lines.alias("before")
    same_key = and_(old.c.upload_id == before, old.c.key == _row.key, old.c.nth == _row.nth)
    there = select(old.c.cells).where(same_key).scalar_subquery()
    return case((there.is_(None), "new"), (there != _row.cells, "changed"), else_="same")


def _line(row: Row[Any]) -> ListLine:
    return ListLine(
        row.number,
        row.code,
        _cells.decode(row.cells),
        row.subject,
        row.coverage,
        row.reason,
        row.certified_until,
        bool(row.certs_read),
        bool(row.is_watched),
    )
