"""What is searched for: the most frequent words with every filter, short prefixes, two words, a typo, a rare word."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal
from urllib.parse import urlencode

from bench.sample import Sample
from registerwatch.register.codes import RiskFilter, StatusFilter

COMMONEST = 10
RISKS = tuple(RiskFilter)
STATUSES = tuple(StatusFilter)

Texts = Sequence[tuple[str, ...]]

Kind = Literal["common word", "two letters", "three letters", "two common words", "one typo", "rare word"]
Filtering = Literal["no filter", "status", "risk", "status and risk"]


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A search. With `typo` the words are not to be taken literally."""

    words: tuple[str, ...]
    status: StatusFilter | None = None
    risk: RiskFilter | None = None
    typo: bool = False
    whole: bool = False
    """Whether the last word is a whole one; else it may be the beginning of one too."""

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
    questions: Sequence[ApiRequest]


def groups(sample: Sample) -> Iterator[Group]:
    """All groups, common words first."""
    ask = _Asking(frozenset(sample.short))
    common = list(sample.common)[:COMMONEST]
    words = [(word,) for word in common]
    yield Group("common word", "no filter", ask.each(words))
    yield Group("common word", "status", ask.each(words, STATUSES))
    yield Group("common word", "risk", ask.each(words, risks=RISKS))
    yield Group("common word", "status and risk", ask.each(words, STATUSES, RISKS))
    letters = [word for word in common if word.isalpha()]
    yield from ask.with_and_without_filters("two letters", _beginnings(letters, 2))
    yield from ask.with_and_without_filters("three letters", _beginnings(letters, 3))
    yield from ask.with_and_without_filters("two common words", [*combinations(common[:5], 2)])
    long = [word for word in sample.common if word.isalpha() and len(word) >= 6][:COMMONEST]
    yield from ask.with_and_without_filters("one typo", [(_misspelt(word, sample),) for word in long])
    yield Group("rare word", "no filter", ask.each([(word,) for word in list(sample.rare)[:COMMONEST]]))


@dataclass(frozen=True, slots=True)
class _Asking:
    """Makes questions. The service takes one or two letters that are a word for that word, not for a beginning."""

    short_words: frozenset[str]

    def with_and_without_filters(self, kind: Kind, texts: Texts) -> Iterator[Group]:
        yield Group(kind, "no filter", self.each(texts, typo=kind == "one typo"))
        on_market = self.each(texts, (StatusFilter.ON,), RISKS, typo=kind == "one typo")
        yield Group(kind, "status and risk", on_market)

    def each(
        self,
        texts: Texts,
        statuses: Sequence[StatusFilter | None] = (None,),
        risks: Sequence[RiskFilter | None] = (None,),
        *,
        typo: bool = False,
    ) -> list[ApiRequest]:
        """Every text with every status and every risk class."""
        return [
            ApiRequest(text, status, risk, typo, whole=text[-1] in self.short_words)
            for text in texts
            for status in statuses
            for risk in risks
        ]


def _beginnings(words: Sequence[str], length: int) -> list[tuple[str, ...]]:
    return [(prefix,) for prefix in dict.fromkeys(word[:length] for word in words if len(word) > length)]


def _misspelt(word: str, sample: Sample) -> str:
    """The word with a letter in its middle replaced, so that no common word begins like that."""
    middle = len(word) // 2
    for letter in "xqwzjvky":
        wrong = word[:middle] + letter + word[middle + 1 :]
        if wrong != word and not any(known.startswith(wrong) for known in sample.common):
            return wrong
    return word
