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
NONE = (None,)

Texts = Sequence[tuple[str, ...]]

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
    words = [(word,) for word in common]
    yield Group("common word", "no filter", _crossed(words, NONE, NONE))
    yield Group("common word", "status", _crossed(words, STATUSES, NONE))
    yield Group("common word", "risk", _crossed(words, NONE, RISKS))
    yield Group("common word", "status and risk", _crossed(words, STATUSES, RISKS))
    letters = [word for word in common if word.isalpha()]
    yield from _with_and_without_filters("two letters", _beginnings(letters, 2))
    yield from _with_and_without_filters("three letters", _beginnings(letters, 3))
    yield from _with_and_without_filters("two common words", [*combinations(common[:5], 2)])
    long = [word for word in census.common if word.isalpha() and len(word) >= 6][:COMMONEST]
    yield from _with_and_without_filters("one typo", [(_misspelt(word, census),) for word in long], typo=True)
    yield Group("rare word", "no filter", [Question((word,)) for word in list(census.rare)[:COMMONEST]])


def _with_and_without_filters(kind: Kind, texts: Texts, *, typo: bool = False) -> Iterator[Group]:
    yield Group(kind, "no filter", _crossed(texts, NONE, NONE, typo=typo))
    yield Group(kind, "status and risk", _crossed(texts, (StatusFilter.ON,), RISKS, typo=typo))


def _crossed(
    texts: Texts,
    statuses: Sequence[StatusFilter | None],
    risks: Sequence[RiskFilter | None],
    *,
    typo: bool = False,
) -> list[Question]:
    """Every text with every status and every risk class."""
    return [Question(text, status, risk, typo) for text in texts for status in statuses for risk in risks]


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
