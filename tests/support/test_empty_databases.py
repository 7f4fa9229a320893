"""A database that a test has used is as a new one for the next, or is not used again."""

import psycopg
import pytest

from tests.support.empty_databases import EmptyDatabases

TRIES = 5
"""The server may look at the rows of one by itself meanwhile, which ends that database."""


def test_rows_and_numbers_begin_anew(postgresql_databases: EmptyDatabases) -> None:
    for _ in range(TRIES):
        with postgresql_databases.one() as url, psycopg.connect(url) as connection:
            fresh = _state(connection)
            connection.execute("INSERT INTO ticks (name, slot) VALUES ('a', 1)")
            connection.execute("UPDATE copy_state SET revision = 7")
            connection.execute("SELECT setval('accounts_id_seq', 7)")
        with postgresql_databases.one() as again, psycopg.connect(again) as connection:
            assert _state(connection) == fresh
            if again == url:
                return
    pytest.fail("No database was used again.")


def test_whoever_is_still_connected_is_cut_off(postgresql_databases: EmptyDatabases) -> None:
    with postgresql_databases.one() as url:
        left = psycopg.connect(url)
        left.execute("INSERT INTO ticks (name, slot) VALUES ('a', 1)")
    with pytest.raises(psycopg.OperationalError):
        left.execute("SELECT 1")
    left.close()


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TABLE more (id int)",
        "ALTER TABLE ticks ALTER COLUMN slot DROP NOT NULL",
        "DROP TABLE ticks",
        "CREATE FUNCTION more() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "ANALYZE copy_state",
        "INSERT INTO ticks SELECT n::text, n FROM generate_series(1, 100000) AS n",
    ],
)
def test_what_cannot_be_undone_ends_the_database(postgresql_databases: EmptyDatabases, change: str) -> None:
    with postgresql_databases.one() as url, psycopg.connect(url, autocommit=True) as connection:
        connection.execute(change.encode())
    with postgresql_databases.one() as other:
        assert other != url


def _state(connection: psycopg.Connection) -> list[object]:
    selects = ("SELECT * FROM ticks", "SELECT * FROM copy_state", "SELECT last_value, is_called FROM accounts_id_seq")
    return [connection.execute(each.encode()).fetchall() for each in selects]
