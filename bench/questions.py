"""What is searched for: the most frequent words with every filter, short prefixes, two words, a typo, a rare word."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal
from urllib.parse import urlencode

from bench.census import Census
from registerwatch.register.codes import RiskFilter, StatusFilter

COMMONEST = 10
RISKS = tuple(RiskFilter)
STATUSES = tuple(StatusFilter)

Kind = Literal["common word", "two letters", "three letters", "two common words", "one typo", "rare word"]
Filtering = Literal["no filter", "status", "risk", "status and risk"]


@dataclass(frozen=True, slots=True)
class Question:
    """A search. The last word may be the beginning of one; with `typo` the words are not to be taken literally."""

    words: tuple[str, ...]
    status: StatusFilter | None = None
    risk: RiskFilter | None = None
    typo: bool = False

    @property
    def text(self) -> str:
        """As a person types it."""
        return " ".join(self.words)

    @property
    def target(self) -> str:
        """The request's target."""
        parameters = {"q": self.text, "status": self.status, "risk": self.risk}
        return "/v1/search?" + urlencode({name: str(value) for name, value in parameters.items() if value is not None})

    @property
    def filters(self) -> str:
        """The filters as they are shown."""
        shown = {"status": self.status, "risk": self.risk}
        return ", ".join(f"{name}={value}" for name, value in shown.items() if value is not None) or "no filter"


@dataclass(frozen=True, slots=True)
class Group:
    """Questions of one kind and filtering, of which the worst one is measured."""

    kind: Kind
    filtering: Filtering
    questions: Sequence[Question]


def groups(census: Census) -> Iterator[Group]:
    """All groups, common words first."""
    common = list(census.common)[:COMMONEST]
    yield from _filtered("common word", [(word,) for word in common], every_filter=True)
    letters = [word for word in common if word.isalpha()]
    yield from _filtered("two letters", _beginnings(letters, 2))
    yield from _filtered("three letters", _beginnings(letters, 3))
    yield from _filtered("two common words", [*combinations(common[:5], 2)])
    typos = [(_misspelt(word, census),) for word in census.common if word.isalpha() and len(word) >= 6][:COMMONEST]
    yield from _filtered("one typo", typos, typo=True)
    rare = [Question((word,)) for word in list(census.rare)[:COMMONEST]]
    yield Group("rare word", "no filter", rare)


def _filtered(
    kind: Kind, texts: Sequence[tuple[str, ...]], *, every_filter: bool = False, typo: bool = False
) -> Iterator[Group]:
    """The texts without filters, and with both; with `every_filter` also with one, and with every value of it."""
    yield Group(kind, "no filter", [Question(text, typo=typo) for text in texts])
    if every_filter:
        yield Group(kind, "status", [Question(text, status, typo=typo) for text in texts for status in STATUSES])
        yield Group(kind, "risk", [Question(text, None, risk, typo) for text in texts for risk in RISKS])
    both = [(status, risk) for status in STATUSES for risk in RISKS] if every_filter else [(StatusFilter.ON, None)]
    risks = RISKS if not every_filter else (None,)
    pairs = [(status, risk or other) for status, risk in both for other in risks]
    yield Group(kind, "status and risk", [Question(text, *pair, typo) for text in texts for pair in pairs])


def _beginnings(words: Sequence[str], length: int) -> list[tuple[str, ...]]:
    return [(prefix,) for prefix in dict.fromkeys(word[:length] for word in words if len(word) > length)]


def _misspelt(word: str, census: Census) -> str:
    """The word with a letter in its middle replaced, so that no common word begins like that."""
    middle = len(word) // 2
    for letter in "xqwzjvky":
        wrong = word[:middle] + letter + word[middle + 1 :]
        if wrong != word and not any(known.startswith(wrong) for known in census.common):
            return wrong
    return word
