"""What is in a copy, and what is searched for: frequent words with every filter, beginnings, a typo, a rare word.

The rows of the copy go into a database of SQLite's full-text search, which peers search too.
"""

import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import combinations, product
from pathlib import Path
from urllib.parse import urlencode

import msgspec

from bench.setup import Setup, remove_database, timed
from registerwatch.register.codes import RiskFilter, StatusFilter

Texts = Sequence[tuple[str, ...]]
Filters = Mapping[str, StatusFilter | RiskFilter]
Filterings = dict[str, list[Filters]]
NO_FILTER: Filterings = {"no filter": [{}]}
ON_THE_MARKET = NO_FILTER | {"status and risk": [{"status": StatusFilter.ON, "risk": risk} for risk in RiskFilter]}
EVERY_FILTER = NO_FILTER | {
    "status": [{"status": status} for status in StatusFilter],
    "risk": [{"risk": risk} for risk in RiskFilter],
    "status and risk": [{"status": status, "risk": risk} for status, risk in product(StatusFilter, RiskFilter)],
}
COMMONEST = 10
TYPO = "one typo"
SAMPLED_DEVICES = 4_000
SAMPLED_ACTORS = 100
COMMON_WORDS = 400
RARE_WORDS = 200
ACTORS = (
    "SELECT DISTINCT document ->> 'manufacturer_srn' AS srn FROM copy.devices WHERE is_current AND srn <> '' ORDER BY 1"
)
RARE = 3  # devices that a rare word is in at most
TEXTS = """
PRAGMA main.journal_mode = OFF;
PRAGMA main.synchronous = OFF;
CREATE TABLE texts (id INTEGER PRIMARY KEY, trade TEXT, device TEXT, manufacturer TEXT);
INSERT INTO texts SELECT
    id,
    (SELECT group_concat(value, ' ') FROM (
        SELECT document ->> 'trade_name' AS value WHERE value <> ''
        UNION SELECT value FROM json_each(document, '$.trade_names') WHERE value <> ''
    )),
    trim(coalesce(document ->> 'device_name', '') || ' ' || coalesce(document ->> 'device_model', '')),
    document ->> 'manufacturer_name'
FROM copy.devices WHERE is_current;
CREATE TABLE device (id INTEGER PRIMARY KEY, status TEXT, risk TEXT);
INSERT INTO device SELECT id, document ->> 'status_code', document ->> 'risk_class_code'
    FROM copy.devices WHERE is_current;
CREATE VIRTUAL TABLE name USING fts5(
    trade, device, manufacturer, content='', prefix='2 3', tokenize='unicode61 remove_diacritics 2'
);
INSERT INTO name (rowid, trade, device, manufacturer) SELECT * FROM texts;
INSERT INTO name (name) VALUES ('optimize');
"""
WORDS = """
CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, name, row);
CREATE TABLE word AS SELECT term, doc FROM temp.words;
"""
"""In how many devices each word is."""


class Sample(msgspec.Struct, frozen=True):
    """What is in a copy. Words are without case and diacritics."""

    file: str  # the database, with `device` and `name` for searches, and `texts`
    loaded: str  # how loading it went, as a sentence
    devices: int
    common: dict[str, int]  # the most frequent words, with the number of devices whose names have them
    rare: list[str]
    short: list[str]  # words of one or two letters
    udis: list[str]  # UDI-DIs from all over the copy
    srns: list[str]


def sample_of(setup: Setup) -> Sample:
    """The sample of the copy in SQLite, from an earlier run or taken now."""
    data_dir = setup.copy().data_dir
    kept = data_dir / "sample.json"
    if not kept.exists():
        kept.write_bytes(msgspec.json.encode(taken(setup.path("fts5.db"), data_dir / "registerwatch.db")))
    return msgspec.json.decode(kept.read_bytes(), type=Sample)


def taken(path: Path, copy: Path) -> Sample:
    """The sample of a copy, whose texts go into a database at `path`."""
    remove_database(path)
    with closing(sqlite3.connect(path)) as connection, timed("loading SQLite FTS5"):
        began = time.monotonic()
        connection.execute("ATTACH ? AS copy", [str(copy)])
        connection.executescript(TEXTS)
        loaded = f"Loaded and indexed in {time.monotonic() - began:,.0f} s, {path.stat().st_size / 1e6:,.0f} MB."
        connection.executescript(WORDS)

        def spread(query: str, count: int) -> list[str]:
            """So many of the first column's values, from all over the rows."""
            found = [str(row[0]) for row in connection.execute(query)]
            return found[:: max(1, len(found) // count)][: count + 1]

        rare = f"FROM word WHERE doc <= {RARE} AND length(term) > 3 AND term NOT GLOB '*[^a-z]*' ORDER BY term"
        return Sample(
            file=str(path),
            loaded=loaded,
            devices=connection.execute("SELECT count(*) FROM device").fetchone()[0],
            common=dict(connection.execute("SELECT term, doc FROM word ORDER BY doc DESC LIMIT ?", [COMMON_WORDS])),
            rare=spread(f"SELECT term {rare}", RARE_WORDS)
            or spread("SELECT term FROM (SELECT * FROM word ORDER BY doc LIMIT 10)", 10),
            short=spread("SELECT term FROM word WHERE length(term) <= 2", 10**9),
            udis=spread("SELECT primary_di FROM copy.devices WHERE is_current ORDER BY id", SAMPLED_DEVICES),
            srns=spread(ACTORS, SAMPLED_ACTORS),
        )


@dataclass(frozen=True, slots=True)
class Question:
    """A search of a kind, among others with the same filters."""

    words: tuple[str, ...]
    filters: Filters = field(default_factory=dict)  # by parameter, which has the name of the peers' column too
    kind: str = ""
    filtering: str = ""
    whole: bool = False  # whether the last word is a whole one; else it may be the beginning of one too

    @property
    def typo(self) -> bool:
        """Whether the words are not to be taken literally."""
        return self.kind == TYPO

    @property
    def text(self) -> str:
        """As a person types it."""
        return " ".join(self.words)

    @property
    def codes(self) -> dict[str, str]:
        """The filters as the register's codes."""
        return {name: each.code for name, each in self.filters.items()}

    @property
    def target(self) -> str:
        """The request's target."""
        return "/v1/search?" + urlencode({"q": self.text, **self.filters})


def groups(sample: Sample) -> Iterator[list[Question]]:
    """Questions of one kind and filtering, of which the slowest is measured; common words first."""
    common = list(sample.common)[:COMMONEST]
    letters = [word for word in common if word.isalpha()]
    long = [word for word in sample.common if word.isalpha() and len(word) >= 6][:COMMONEST]
    kinds: list[tuple[str, Texts, Filterings]] = [
        ("common word", [(word,) for word in common], EVERY_FILTER),
        ("two letters", _beginnings(letters, 2), ON_THE_MARKET),
        ("three letters", _beginnings(letters, 3), ON_THE_MARKET),
        ("two common words", [*combinations(common[:5], 2)], ON_THE_MARKET),
        (TYPO, [(_misspelt(word, sample),) for word in long], ON_THE_MARKET),
        ("rare word", [(word,) for word in sample.rare[:COMMONEST]], NO_FILTER),
    ]
    for kind, texts, filterings in kinds:
        for filtering, filters in filterings.items():
            # The service takes one or two letters that are a word for that word, not for a beginning.
            yield [
                Question(text, chosen, kind, filtering, whole=text[-1] in sample.short)
                for text, chosen in product(texts, filters)
            ]


def _beginnings(words: Sequence[str], length: int) -> Texts:
    return [(prefix,) for prefix in dict.fromkeys(word[:length] for word in words if len(word) > length)]


def _misspelt(word: str, sample: Sample) -> str:
    """The word with a letter in its middle replaced, so that no common word begins like that."""
    middle = len(word) // 2
    wrong = [word[:middle] + letter + word[middle + 1 :] for letter in "xqwzjvky" if letter != word[middle]]
    return next((each for each in wrong if not any(known.startswith(each) for known in sample.common)), word)
