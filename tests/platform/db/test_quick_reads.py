"""Quick reads are one interface: both databases answer the same selects in the same way."""

from sqlalchemy import bindparam, literal_column, select, union_all

from registerwatch.copy.tables import copy_state
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.quick_reads import quick_reads
from registerwatch.platform.db.statements import PreparedSelect

_FIRST, _SECOND = bindparam("first", type_=copy_state.c.revision.type), bindparam("second", type_=copy_state.c.id.type)
PAIR = select(_FIRST.label("a"), (_SECOND + _FIRST).label("b"), literal_column("'50 %'").label("c"))
TWICE = PreparedSelect(union_all(PAIR, PAIR).subquery().select())
ABSENT = PreparedSelect(select(copy_state.c.revision).where(copy_state.c.id == bindparam("row_id")))


async def test_a_parameter_that_stands_in_several_places_has_one_value(database: Database) -> None:
    rows = await database.rows(TWICE, second=20, first=1)

    assert [tuple(row) for row in rows] == [(1, 21, "50 %")] * 2


async def test_all_has_every_row_and_one_the_first_or_none(database: Database, database_url: str) -> None:
    reads, twice, absent = quick_reads(database_url), TWICE.compiled(database.kind), ABSENT.compiled(database.kind)
    values = twice.ordered({"first": 1, "second": 20})

    assert await reads.all(twice.sql, *values) == [(1, 21, "50 %")] * 2
    assert await reads.one(twice.sql, *values) == (1, 21, "50 %")
    assert await reads.all(absent.sql, -1) == []
    assert await reads.one(absent.sql, -1) is None
    await reads.close()
    await reads.close()
