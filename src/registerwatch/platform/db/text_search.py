"""Whether a stored text contains another one, by the function that each database has for it.

LIKE takes PostgreSQL three times as long, and treats some characters as wildcards.
"""

from string import ascii_uppercase
from typing import Any

from sqlalchemy import Boolean, ColumnElement, or_
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import GenericFunction

_ASCII_LOWER = {ord(letter): letter.lower() for letter in ascii_uppercase}


class holds_text(GenericFunction[bool]):  # noqa: N801  # it reads as the function that it is
    """`holds_text(column, text)`: whether the column's text contains this text exactly."""

    type = Boolean()
    inherit_cache = True


@compiles(holds_text, "sqlite")
def _in_sqlite(element: ColumnElement[bool], compiler: SQLCompiler, **options: Any) -> str:
    return f"(instr({compiler.process(element.clauses, **options)}) > 0)"


@compiles(holds_text, "postgresql")
def _in_postgresql(element: ColumnElement[bool], compiler: SQLCompiler, **options: Any) -> str:
    return f"(strpos({compiler.process(element.clauses, **options)}) > 0)"


def holds_word(lowered: ColumnElement[str], word: str) -> ColumnElement[bool]:
    """Whether a text that `lower` has put into lower case contains a word, whatever its case.

    SQLite, and PostgreSQL in the locale C, put ASCII letters alone into lower case, so others are looked for in both
    cases.
    """
    forms = {form.translate(_ASCII_LOWER) for form in (word, word.lower(), word.upper())}
    return or_(*(holds_text(lowered, form) for form in sorted(forms)))
