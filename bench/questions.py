"""What is searched for: the most frequent words with every filter, short prefixes, two words, a typo, a rare word."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from urllib.parse import urlencode

from bench.sample import Sample
from registerwatch.register.codes import RiskFilter, StatusFilter

COMMONEST = 10

Texts = Sequence[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Question:
    """A search. With `typo` the words are not to be taken literally."""

    words: tuple[str, ...]
    status: StatusFilter | None = None
    risk: RiskFilter | None = None
    typo: bool = False
    whole: bool = False  # whether the last word is a whole one; else it may be the beginning of one too

    @property
    def text(self) -> str:
        """As a person types it."""
        return " ".join(self.words)

    @property
    def filters(self) -> dict[str, StatusFilter | RiskFilter]:
        """The filters by the names of their parameters, which are those of the peers' columns too."""
        return {name: each for name, each in (("status", self.status), ("risk", self.risk)) if each is not None}

    @property
    def codes(self) -> dict[str, str]:
        """The same as codes of the register."""
        return {name: each.code for name, each in self.filters.items()}

    @property
    def target(self) -> str:
        """The request's target."""
        return "/v1/search?" + urlencode({"q": self.text, **self.filters})


@dataclass(frozen=True, slots=True)
class Group:
    """Questions of one kind and filtering, of which the worst one is measured."""

    kind: str
    filtering: str
    questions: Sequence[Question]


def groups(sample: Sample) -> Iterator[Group]:
    """All groups, common words first."""
    common = list(sample.common)[:COMMONEST]
    letters = [word for word in common if word.isalpha()]
    long = [word for word in sample.common if word.isalpha() and len(word) >= 6][:COMMONEST]
    kinds: dict[str, Texts] = {
        "common word": [(word,) for word in common],
        "two letters": _beginnings(letters, 2),
        "three letters": _beginnings(letters, 3),
        "two common words": [*combinations(common[:5], 2)],
        "one typo": [(_misspelt(word, sample),) for word in long],
        "rare word": [(word,) for word in sample.rare[:COMMONEST]],
    }
    every = (tuple(StatusFilter), tuple(RiskFilter))
    for kind, texts in kinds.items():
        filterings: dict[str, tuple[Sequence[StatusFilter | None], Sequence[RiskFilter | None]]]
        filterings = {"no filter": ((None,), (None,))}
        if kind == "common word":
            filterings |= {"status": (every[0], (None,)), "risk": ((None,), every[1]), "status and risk": every}
        elif kind != "rare word":
            filterings["status and risk"] = ((StatusFilter.ON,), every[1])
        for filtering, filters in filterings.items():
            # The service takes one or two letters that are a word for that word, not for a beginning.
            questions = [
                Question(text, status, risk, typo=kind == "one typo", whole=text[-1] in sample.short)
                for text, status, risk in product(texts, *filters)
            ]
            yield Group(kind, filtering, questions)


def _beginnings(words: Sequence[str], length: int) -> Texts:
    return [(prefix,) for prefix in dict.fromkeys(word[:length] for word in words if len(word) > length)]


def _misspelt(word: str, sample: Sample) -> str:
    """The word with a letter in its middle replaced, so that no common word begins like that."""
    middle = len(word) // 2
    wrong = [word[:middle] + letter + word[middle + 1 :] for letter in "xqwzjvky" if letter != word[middle]]
    return next((each for each in wrong if not any(known.startswith(each) for known in sample.common)), word)
