"""Thousands of texts for one statement, as one parameter: a JSON array that the database takes apart.

Rendering a parameter for each text takes longer than finding their rows.
"""

from collections.abc import Collection

from msgspec.json import encode

LISTED = {
    "sqlite": "SELECT value FROM json_each(:listed)",
    "postgresql": "SELECT jsonb_array_elements_text(CAST(:listed AS jsonb))",
}
"""A subquery for `… IN (…)` that gives the texts of the parameter `listed`, by the kind of the database."""


def listed(texts: Collection[str]) -> str:
    """The value of `listed`."""
    return encode(list(texts)).decode()
