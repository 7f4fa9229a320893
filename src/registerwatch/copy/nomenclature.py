"""The stored names of the nomenclature's codes."""

from collections.abc import Iterable, Mapping

from sqlalchemy import delete, func, insert, select

from registerwatch.copy.tables import nomenclature
from registerwatch.platform.db.engine import Database

_CHUNK = 1_000


class NomenclatureStore:
    """Names by code. There are none until a file was loaded."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def names(self, codes: Iterable[str]) -> Mapping[str, str]:
        """The names of these codes, where they have one."""
        asked = sorted(set(codes))
        if not asked:
            return {}
        statement = select(nomenclature.c.code, nomenclature.c.name).where(nomenclature.c.code.in_(asked))
        async with self._database.reading() as connection:
            return {row.code: row.name for row in (await connection.execute(statement)).all()}

    async def count(self) -> int:
        """How many codes have a name."""
        async with self._database.reading() as connection:
            return int((await connection.execute(select(func.count()).select_from(nomenclature))).scalar_one())

    async def replace(self, names: Mapping[str, str]) -> None:
        """Store these names instead of all earlier ones, in one transaction."""
        rows = [{"code": code, "name": name} for code, name in names.items()]
        async with self._database.transaction() as connection:
            await connection.execute(delete(nomenclature))
            for start in range(0, len(rows), _CHUNK):
                await connection.execute(insert(nomenclature), rows[start : start + _CHUNK])
