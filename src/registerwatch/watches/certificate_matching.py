"""Matching the certificates of one read with those of the next.

Notified body, number and revision tell certificates apart (`register/certificate_identity.py`). The register lists
some that are alike in all three: those are compared as a set, so the order in which they are listed does not matter.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from registerwatch.register.certificate_identity import has_same_number, is_alike, same_certificates
from registerwatch.register.models import may_be_same_body
from registerwatch.watches.snapshot import SeenCertificate, in_order

Pair = tuple[SeenCertificate, SeenCertificate]
"""A certificate before and after."""

Comparison = Callable[[SeenCertificate, SeenCertificate], bool]
"""A question about a certificate before and one now."""


@dataclass(slots=True)
class MatchedCertificates:
    """Certificates before and after: `pairs`; those `going` now; those `gone` before; those that `come`."""

    going: list[SeenCertificate]
    gone: list[SeenCertificate]
    come: list[SeenCertificate]
    pairs: list[Pair] = field(default_factory=list)

    def pair_alike(self, before: list[SeenCertificate], are_alike: Comparison, is_unchanged: Comparison) -> None:
        """Pair certificates of `before`, which is `going` or `gone`, with those of `come` that are alike."""
        for first in list(before):
            come = [each for each in self.come if are_alike(first, each)]
            alike = [each for each in before if come and are_alike(first, each)]
            self._take(_pairs(alike, come, is_unchanged), before)

    def pair_unknown_revisions(self, before: list[SeenCertificate]) -> None:
        """Pair certificates of `before` whose revision becomes known or vanishes, where there is one candidate."""
        same = same_certificates(before, self.come)
        self._take([(each, of[0]) for each, of in zip(before, same, strict=True) if of], before)

    def pair_revisions(self) -> None:
        """Pair a certificate of `going` with one of `come` under its number, where one of each is left."""
        for each in list(self.going):
            come = [other for other in self.come if has_same_number(each, other)]
            if len(come) == 1 and sum(has_same_number(other, come[0]) for other in self.going) == 1:
                self._take([(each, come[0])], self.going)

    def _take(self, pairs: Iterable[Pair], before: list[SeenCertificate]) -> None:
        for each, after in pairs:
            self.pairs.append((each, after))
            before.remove(each)
            self.come.remove(after)


def matched(
    listed: Iterable[SeenCertificate],
    gone: Iterable[SeenCertificate],
    now: Iterable[SeenCertificate],
    is_unchanged: Comparison,
) -> MatchedCertificates:
    """Match certificates that were `listed` last, and those that were `gone`, with those that are listed now.

    What was listed is matched before what was gone. If one read lacks the notified body, number and revision decide;
    if it lacks the revision, number and body do. `is_unchanged` says whether a certificate has no new value now.
    """
    found = MatchedCertificates(in_order(listed), in_order(gone), in_order(now))
    for are_alike in (_same_identity, is_alike):
        for before in (found.going, found.gone):
            found.pair_alike(before, are_alike, is_unchanged)
    for before in (found.going, found.gone):
        found.pair_unknown_revisions(before)
    found.pair_revisions()
    return found


def may_be_renumbered(before: SeenCertificate, after: SeenCertificate) -> bool:
    """Whether one may be the other under a new number: notified bodies and kinds, where known, are the same."""
    has_other_kind = before.type_code and after.type_code and before.type_code != after.type_code
    return may_be_same_body(before.notified_body, after.notified_body) and not has_other_kind


def _pairs(before: Sequence[SeenCertificate], now: Sequence[SeenCertificate], is_unchanged: Comparison) -> list[Pair]:
    """Pairs of certificates that are alike: first identical ones, then unchanged ones, then by the latest dates."""
    pairs = _assigned(before, now, lambda one, other: one.values == other.values)
    for comparison in (is_unchanged, lambda _one, _other: True):
        left, come = _without(before, [each for each, _ in pairs]), _without(now, [after for _, after in pairs])
        pairs += _assigned(left[::-1], come[::-1], comparison)
    return pairs


def _assigned(before: Sequence[SeenCertificate], now: Sequence[SeenCertificate], fits: Comparison) -> list[Pair]:
    """The largest set of fitting pairs (augmenting paths; a device has few certificates that are alike).

    The first of `now` that fits is paired with the first of `before`, unless more pairs are possible otherwise.
    """
    partner: dict[int, int] = {}

    def has_partner(after: int, tried: set[int]) -> bool:
        free_first = sorted(range(len(before)), key=lambda other: other in partner)
        for other in free_first:
            if other not in tried and fits(before[other], now[after]):
                tried.add(other)
                if other not in partner or has_partner(partner[other], tried):
                    partner[other] = after
                    return True
        return False

    for after in range(len(now)):
        has_partner(after, set())
    return [(before[other], now[after]) for other, after in sorted(partner.items())]


def _without(certificates: Sequence[SeenCertificate], taken: Iterable[SeenCertificate]) -> list[SeenCertificate]:
    left = list(certificates)
    for each in taken:
        left.remove(each)
    return left


def _same_identity(one: SeenCertificate, other: SeenCertificate) -> bool:
    return one.identity == other.identity
