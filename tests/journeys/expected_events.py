"""The changes that watchers must be told: the rules of watching, written a second time, without the product's code.

Fields are those of the contract, texts those of the register's English labels.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

FieldChange = tuple[str, str, str, str]
"""Field, old, new, and the number of the certificate whose field it is (else empty)."""

CertificateName = tuple[str, str]
"""Number and revision of a certificate. Several may have the same: they are alike."""

CertificateKey = tuple[str, str, int]
"""Its name, and what tells it from those that are alike, in the order in which they were listed first."""

NUMBER, EXPIRY, STATUS = "certificate", "cert_expiry", "cert_status"


@dataclass(frozen=True, slots=True)
class Value:
    """What a field says. A coded field is told in words and compared by its code; of a plain one both are the same."""

    code: str
    words: str


@dataclass(frozen=True, slots=True)
class WatchedCertificate:
    """What is watched of a certificate."""

    number: str
    expiry: str
    status: Value
    issuer: tuple[str, str] = field(default=("", ""), compare=False)
    """Its notified body and its kind, empty where they are not known. They are not watched."""


Certificates = Mapping[CertificateKey, WatchedCertificate]


@dataclass(frozen=True, slots=True)
class Seen:
    """What a read saw. `certificates` is None where they could not be read; `searched`: whether they were searched."""

    fields: Mapping[str, Value]
    certificates: Certificates | None = None
    searched: bool = False
    in_record: frozenset[CertificateKey] = frozenset()
    """Those that the device's own record lists, which is read every time."""
    brought: Certificates = field(default_factory=dict)
    """Every certificate that the read brought, where they could not be read in full too."""
    unsettled: frozenset[str] = frozenset()
    """Fields of which only a detail tells that is older than its row: what was told later may be kept instead."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a watcher was told last of a subject: the baseline, and every change since."""

    fields: Mapping[str, Value] = field(default_factory=dict)
    certificates: Certificates | None = None
    searched: bool = False
    listed: frozenset[CertificateKey] = frozenset()
    """The certificates that were listed last, not gone."""
    by_search: frozenset[CertificateKey] = frozenset()
    """Those of them that a search listed, and no record: a read without a search proves nothing of them."""
    is_partial: bool = False
    """Whether certificates were never read: `certificates` are those that were known beside reads that failed."""

    @property
    def present(self) -> frozenset[CertificateKey]:
        """The certificates that can be replaced: where none is listed any more, the list may have been incomplete."""
        return self.listed or frozenset(self.certificates or ())


def keyed(
    listed: Iterable[tuple[CertificateName, WatchedCertificate]],
) -> dict[CertificateKey, WatchedCertificate]:
    """Certificates that one place lists, by key. What it lists twice, the same in everything, is one."""
    found: dict[CertificateKey, WatchedCertificate] = {}
    for (number, revision), each in listed:
        alike = [found[key] for key in found if key[:2] == (number, revision)]
        if each not in alike:
            found[number, revision, len(alike)] = each
    return found


def together(first: Certificates, last: Certificates) -> dict[CertificateKey, WatchedCertificate]:
    """Certificates of two places; of those in both, what the last one says, with the revision that either has."""
    names = {key[:2] for key in last}
    left = {key: each for key, each in first.items() if key[:2] not in names}
    others = [key for key in last if key[:2] not in {each[:2] for each in first}]
    same = dict(_of_unknown_revision(list(left), others))
    known = {new: old for old, new in same.items() if not new[1]}
    kept_first = {key: each for key, each in left.items() if key not in same}
    return kept_first | {known.get(key, key): each for key, each in last.items()}


def plain(text: object) -> Value:
    """The value of a field that has no code, without space around it."""
    words = "" if text is None else str(text).strip()
    return Value(words, words)


def expected(told: Told, seen: Seen) -> list[FieldChange]:
    """The changes that this read must tell. An empty new value is none; the same code in other words is none."""
    seen = _aligned(told, seen)
    return [
        (name, before.words, now.words, "")
        for name, now in seen.fields.items()
        if now.words and now.code != (before := told.fields.get(name, Value("", ""))).code
    ] + _certificate_changes(told, seen)


def kept(told: Told | None, seen: Seen) -> Told:
    """What the watcher knows after this read. What has become empty, and certificates that are gone, stay known."""
    before = told or Told()
    seen = _aligned(before, seen)
    fields = {**before.fields, **{name: now for name, now in seen.fields.items() if now.words}}
    if seen.certificates is None:
        return replace(before, fields=fields)
    if before.certificates is None:
        listed = frozenset(seen.certificates)
        return Told(fields, seen.certificates, seen.searched, listed, _by_search(seen))
    pairs, gone, come = _matched(before, seen)
    certificates = {key: before.certificates[key] for key in gone} | {key: seen.certificates[key] for key in come}
    certificates |= {now: _filled(before.certificates[old], seen.certificates[now]) for old, now in pairs}
    staying = _staying(before, seen)
    listed, by_search = frozenset(seen.certificates) | staying, _by_search(seen) | staying
    return Told(fields, certificates, before.searched or seen.searched, listed, by_search)


def _aligned(told: Told, seen: Seen) -> Seen:
    """The same read, in which certificates that are alike have the keys that they had before, whatever their order."""
    if told.certificates is None or seen.certificates is None:
        return seen
    keys: dict[CertificateKey, CertificateKey] = {}
    for name in sorted({key[:2] for key in seen.certificates}):
        keys |= _keys_before(told, {key: each for key, each in seen.certificates.items() if key[:2] == name})
    certificates = {keys[key]: each for key, each in seen.certificates.items()}
    return replace(seen, certificates=certificates, in_record=frozenset(keys.get(key, key) for key in seen.in_record))


def _keys_before(told: Told, alike: Certificates) -> dict[CertificateKey, CertificateKey]:
    """The former keys of certificates that are alike: first the same ones, then those that have no new value, then the
    latest dates first. What was listed last goes before what was gone.
    """
    known = told.certificates or {}
    number, revision, _ = next(iter(alike))
    before = sorted(
        (key for key in known if key[:2] == (number, revision)), key=lambda key: _order(known[key]), reverse=True
    )
    left = sorted(alike, key=lambda key: _order(alike[key]), reverse=True)
    keys: dict[CertificateKey, CertificateKey] = {}
    for is_present in (True, False):
        for fits in (_is_same, _has_no_new_value, _is_any):
            for key in list(left):
                free = (each for each in before if each not in keys.values() and (each in told.present) is is_present)
                found = next((each for each in free if fits(known[each], alike[key])), None)
                if found is not None:
                    keys[key] = found
                    left.remove(key)
    unused = max((key[2] for key in before), default=-1) + 1
    return keys | {key: (number, revision, unused + place) for place, key in enumerate(left)}


def _order(certificate: WatchedCertificate) -> tuple[str, str, str]:
    return certificate.expiry, certificate.status.words, certificate.status.code


def _is_same(old: WatchedCertificate, now: WatchedCertificate) -> bool:
    return old == now


def _has_no_new_value(old: WatchedCertificate, now: WatchedCertificate) -> bool:
    return not list(_within(old, now))


def _is_any(old: WatchedCertificate, now: WatchedCertificate) -> bool:
    return True


def _certificate_changes(told: Told, seen: Seen) -> list[FieldChange]:
    if told.certificates is None or seen.certificates is None:
        return []
    pairs, _, come = _matched(told, seen)
    changes = [change for old, now in pairs for change in _within(told.certificates[old], seen.certificates[now])]
    return changes + [(NUMBER, "", key[0], key[0]) for key in come if _may_be_new(told, seen, key)]


def _may_be_new(told: Told, seen: Seen, key: CertificateKey) -> bool:
    """Whether a certificate that was not there before is new; one is not that the first search of all finds."""
    return not told.is_partial and (told.searched or not seen.searched or key in seen.in_record)


def _by_search(seen: Seen) -> frozenset[CertificateKey]:
    return frozenset(seen.certificates or ()) - seen.in_record


def _staying(told: Told, seen: Seen) -> frozenset[CertificateKey]:
    """What is not named now, but may be listed by a search that could not be read."""
    return told.by_search - frozenset(seen.certificates or ()) if told.searched and not seen.searched else frozenset()


def _matched(
    told: Told, seen: Seen
) -> tuple[list[tuple[CertificateKey, CertificateKey]], list[CertificateKey], list[CertificateKey]]:
    """Pairs by number and revision; of one number alone; the only one gone with the only one come, where nothing tells
    that they are two; then gone, come.
    """
    before, now, staying = told.certificates or {}, seen.certificates or {}, _staying(told, seen)
    pairs = [(key, key) for key in before if key in now]
    missing, come = [key for key in before if key not in now], [key for key in now if key not in before]
    gone = [key for key in missing if key in told.present]
    were_gone = [key for key in missing if key not in told.present]
    for before_now in (gone, were_gone):
        for old_key, new_key in _of_unknown_revision(before_now, come):
            pairs.append((old_key, new_key))
            before_now.remove(old_key)
            come.remove(new_key)
    for number in sorted({key[0] for key in gone}):
        old, new = ([key for key in keys if key[0] == number] for keys in (gone, come))
        if len(old) == len(new) == 1:
            pairs.append((old[0], new[0]))
            gone.remove(old[0])
            come.remove(new[0])
    went = [key for key in gone if key not in staying]
    is_one = len(went) == len(come) == 1 and not _are_two(before[went[0]], now[come[0]])
    if is_one and _may_be_new(told, seen, come[0]):
        gone.remove(went[0])
        pairs.append((went[0], come.pop()))
    return pairs, [*gone, *were_gone], come


def _are_two(old: WatchedCertificate, now: WatchedCertificate) -> bool:
    """Whether two notified bodies or two kinds tell that one certificate is not the other under a new number."""
    return any(len({*pair} - {""}) == 2 for pair in zip(old.issuer, now.issuer, strict=True))


def _of_unknown_revision(
    before: Sequence[CertificateKey], come: Sequence[CertificateKey]
) -> list[tuple[CertificateKey, CertificateKey]]:
    """A certificate whose revision becomes known or vanishes is the same, where each can only be the other."""

    def may_be(one: CertificateKey, other: CertificateKey) -> bool:
        return one[0] == other[0] and (one[1] == "") != (other[1] == "")

    candidates = {key: [other for other in come if may_be(key, other)] for key in before}
    return [
        (key, others[0])
        for key, others in candidates.items()
        if len(others) == 1 and sum(others[0] in each for each in candidates.values()) == 1
    ]


def _within(old: WatchedCertificate, now: WatchedCertificate) -> Iterable[FieldChange]:
    if old.number != now.number:
        yield NUMBER, old.number, now.number, now.number
    if now.expiry and now.expiry != old.expiry:
        yield EXPIRY, old.expiry, now.expiry, now.number
    if now.status.words and now.status.code != old.status.code:
        yield STATUS, old.status.words, now.status.words, now.number


def _filled(old: WatchedCertificate, now: WatchedCertificate) -> WatchedCertificate:
    """The same certificate as it is now; of another one in its place nothing is carried over."""
    if now.number != old.number:
        return now
    return replace(now, expiry=now.expiry or old.expiry, status=now.status if now.status.words else old.status)
