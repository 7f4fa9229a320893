"""Everything that is stored, to compare before with after."""

from sqlalchemy import text

from registerwatch.db.engine import Database

STORED = {
    "devices": "SELECT * FROM devices ORDER BY id",
    "actors": "SELECT * FROM actors ORDER BY srn",
    "copy_state": "SELECT * FROM copy_state",
}


async def stored(database: Database) -> dict[str, list[tuple[object, ...]]]:
    """Every row of the copy."""
    async with database.reading() as connection:
        return {
            name: [tuple(row) for row in (await connection.execute(text(query))).all()]
            for name, query in STORED.items()
        }
