"""What a watcher must have been told: the rules of watching, written a second time, beside the product's own code.

Nothing here comes from the product. Fields are those of the contract, texts those of the register's English labels.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

FieldChange = tuple[str, str, str, str]
"""Field, old, new, and the number of the certificate whose field it is (else empty)."""

PaperKey = tuple[str, str]
"""Number and revision of a certificate."""

NUMBER, EXPIRY, STATUS = "certificate", "cert_expiry", "cert_status"


@dataclass(frozen=True, slots=True)
class Value:
    """What a field says. A coded field is told in words and compared by its code; of a plain one both are the same."""

    code: str
    words: str


@dataclass(frozen=True, slots=True)
class Paper:
    """What is watched of a certificate."""

    number: str
    expiry: str
    status: Value


Papers = Mapping[PaperKey, Paper]


@dataclass(frozen=True, slots=True)
class Seen:
    """What a read saw. `papers` is None where they could not be read; `searched` whether the search had its say."""

    fields: Mapping[str, Value]
    papers: Papers | None = None
    searched: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """What a watcher was told last of a subject: the baseline, and every change since."""

    fields: Mapping[str, Value] = field(default_factory=dict)
    papers: Papers | None = None
    searched: bool = False
    listed: frozenset[PaperKey] = frozenset()
    """The papers that were listed last, not gone."""

    @property
    def present(self) -> frozenset[PaperKey]:
        """The papers that can be replaced: where none is listed any more, the list may have been incomplete."""
        return self.listed or frozenset(self.papers or ())


def plain(text: object) -> Value:
    """The value of a field that has no code, without space around it."""
    words = "" if text is None else str(text).strip()
    return Value(words, words)


def expected(told: Told, seen: Seen) -> list[FieldChange]:
    """The changes that this read must tell. An empty new value is none; the same code in other words is none."""
    return [
        (name, before.words, now.words, "")
        for name, now in seen.fields.items()
        if now.words and now.code != (before := told.fields.get(name, Value("", ""))).code
    ] + _paper_changes(told, seen)


def kept(told: Told | None, seen: Seen) -> Told:
    """What the watcher knows after this read. What has become empty, and papers that are gone, stay known."""
    before = told or Told()
    fields = {**before.fields, **{name: now for name, now in seen.fields.items() if now.words}}
    if seen.papers is None:
        return replace(before, fields=fields)
    if before.papers is None:
        return Told(fields, seen.papers, seen.searched, frozenset(seen.papers))
    pairs, gone, come = _matched(before, seen.papers, joins_strangers=_may_be_new(before, seen))
    papers = {key: before.papers[key] for key in gone} | {key: seen.papers[key] for key in come}
    papers |= {now: _filled(before.papers[old], seen.papers[now]) for old, now in pairs}
    proves = seen.searched or not before.searched
    listed = frozenset(seen.papers) | (frozenset() if proves else before.listed)
    return Told(fields, papers, before.searched or seen.searched, listed)


def _paper_changes(told: Told, seen: Seen) -> list[FieldChange]:
    if told.papers is None or seen.papers is None:
        return []
    may_be_new = _may_be_new(told, seen)
    pairs, _, come = _matched(told, seen.papers, joins_strangers=may_be_new)
    changes = [change for old, now in pairs for change in _within(told.papers[old], seen.papers[now])]
    return changes + [(NUMBER, "", key[0], key[0]) for key in come if may_be_new]


def _may_be_new(told: Told, seen: Seen) -> bool:
    """Whether a paper that was not there before is new; it is not where the search has its say for the first time."""
    return told.searched or not seen.searched


def _matched(
    told: Told, now: Papers, *, joins_strangers: bool
) -> tuple[list[tuple[PaperKey, PaperKey]], list[PaperKey], list[PaperKey]]:
    """Papers before and now: by number and revision; a lone pair of one number; a lone one gone and a lone one come."""
    before = told.papers or {}
    pairs = [(key, key) for key in before if key in now]
    missing, come = [key for key in before if key not in now], [key for key in now if key not in before]
    gone = [key for key in missing if key in told.present]
    for number in sorted({key[0] for key in gone}):
        old, new = ([key for key in keys if key[0] == number] for keys in (gone, come))
        if len(old) == len(new) == 1:
            pairs.append((old[0], new[0]))
            gone.remove(old[0])
            come.remove(new[0])
    if joins_strangers and len(gone) == len(come) == 1:
        pairs.append((gone.pop(), come.pop()))
    return pairs, [*gone, *(key for key in missing if key not in told.present)], come


def _within(old: Paper, now: Paper) -> Iterable[FieldChange]:
    if old.number != now.number:
        yield NUMBER, old.number, now.number, now.number
    if now.expiry and now.expiry != old.expiry:
        yield EXPIRY, old.expiry, now.expiry, now.number
    if now.status.words and now.status.code != old.status.code:
        yield STATUS, old.status.words, now.status.words, now.number


def _filled(old: Paper, now: Paper) -> Paper:
    """The same certificate as it is now; of another one in its place nothing is carried over."""
    if now.number != old.number:
        return now
    return Paper(now.number, now.expiry or old.expiry, now.status if now.status.words else old.status)
