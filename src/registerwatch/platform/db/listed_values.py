"""Thousands of texts for one statement, as one parameter: a JSON array that the database takes apart.

A parameter for each of them takes longer to render than their rows to find.
"""

from collections.abc import Collection

from msgspec.json import encode

LISTED = {
    "sqlite": "SELECT value FROM json_each(:listed)",
    "postgresql": "SELECT jsonb_array_elements_text(CAST(:listed AS jsonb))",
}
"""A subquery that gives the texts of the parameter `listed`, for `… IN (…)`, by the kind of the database."""


def listed(texts: Collection[str]) -> str:
    """The value of that parameter."""
    return encode(list(texts)).decode()
