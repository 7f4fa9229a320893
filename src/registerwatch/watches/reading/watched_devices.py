"""Watched devices that certificates concern, for what is found of certificates apart from devices."""

from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Sequence
from datetime import date
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Row, Select, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.tables import accounts
from registerwatch.copy.certificates.device_certificates import stored_reads
from registerwatch.platform.clock import day_of, iso_utc
from registerwatch.platform.db.text_search import holds_text
from registerwatch.register.certificate_reads import CertificateRead, newer_reads
from registerwatch.watches.repository import NewWatch
from registerwatch.watches.snapshot import SeenCertificate, decoded, listed_certificates
from registerwatch.watches.standing import shown_of
from registerwatch.watches.tables import watches

CHUNK = 500
"""How many values one statement has."""
MAX_NUMBERS = 100
"""How many numbers one statement looks for in snapshots."""
MAX_WITH_OTHER = 2_000
"""Devices that become due by one read of another device; further ones wait for their regular recheck."""


class DevicesOfAccounts:
    """The devices that active accounts watch."""

    async def named_by(self, connection: AsyncConnection, basic_udis: Sequence[str], *, now: int) -> Sequence[str]:
        """Watched UDI-DIs under these Basic UDI-DIs, in order."""
        found: set[str] = set()
        for start in range(0, len(basic_udis), CHUNK):
            asked = _watched(now).where(watches.c.basic_udi.in_(basic_udis[start : start + CHUNK])).distinct()
            found.update(row.subject for row in await connection.execute(asked))
        return sorted(found)

    async def with_found(
        self, connection: AsyncConnection, numbers: Collection[tuple[str, str]], *, now: int
    ) -> Sequence[str]:
        """Watched UDI-DIs, in order, for which a search found a certificate of these manufacturers and numbers."""
        found: set[str] = set()
        async for row in _with_numbers(connection, numbers, now):
            certificates = decoded(row.snapshot).certs or ()
            if any(_is_found(each) and (row.manufacturer_srn, each.number) in numbers for each in certificates):
                found.add(row.subject)
        return sorted(found)

    async def with_other(
        self, connection: AsyncConnection, reads: Sequence[CertificateRead], *, besides: Collection[str], now: int
    ) -> Sequence[str]:
        """Watched UDI-DIs, in order, whose last reads are older than these of other devices and have one of the
        certificates otherwise; none under the Basic UDI-DIs `besides`, and `MAX_WITH_OTHER` at most.
        """
        found: set[str] = set()
        async for row in _with_numbers(connection, {(each.srn, each.number) for each in reads}, now):
            of_others = [each for each in reads if each.srn == row.manufacturer_srn and each.read.udi != row.subject]
            if row.basic_udi in besides:
                continue
            if _has_other(row.snapshot, row.last_sync, of_others, day_of(now)):
                found.add(row.subject)
        return sorted(found)[:MAX_WITH_OTHER]


async def in_doubt(connection: AsyncConnection, new: Sequence[NewWatch], *, now: int) -> Sequence[str]:
    """The UDI-DIs of new watches whose baselines are older than a read of another device that has one of their
    certificates otherwise.
    """
    numbers = {watch.subject: _numbers(watch) for watch in new}
    in_order = sorted(set().union(*numbers.values()))
    reads: defaultdict[tuple[str, str], list[CertificateRead]] = defaultdict(list)
    for start in range(0, len(in_order), CHUNK):
        srns, some = zip(*in_order[start : start + CHUNK], strict=True)
        for each in await stored_reads(connection, set(srns), set(some)):
            reads[each.srn, each.number].append(each)
    found = []
    for watch in new:
        of_numbers = [each for key in sorted(numbers[watch.subject]) for each in reads[key]]
        of_others = [each for each in of_numbers if each.read.udi != watch.subject]
        if watch.snapshot is not None and _has_other(watch.snapshot, watch.read_at, of_others, day_of(now)):
            found.append(watch.subject)
    return found


def _numbers(watch: NewWatch) -> set[tuple[str, str]]:
    """The certificates of a watch's baseline, by manufacturer and number; none where it is to be read in full first."""
    if watch.snapshot is None or watch.read_at is None:
        return set()
    return {(watch.manufacturer_srn, each.number) for each in decoded(watch.snapshot).certs or ()}


async def _with_numbers(
    connection: AsyncConnection, numbers: Collection[tuple[str, str]], now: int
) -> AsyncIterator[Row[Any]]:
    """Watches of devices of these manufacturers whose snapshots have one of these numbers, or a text that holds it."""
    in_order = sorted(numbers)
    for start in range(0, len(in_order), MAX_NUMBERS):
        pairs = in_order[start : start + MAX_NUMBERS]
        texts = {msgspec.json.encode(number).decode() for _, number in pairs}  # as a snapshot has them
        asked = (
            _watched(now)
            .add_columns(watches.c.manufacturer_srn, watches.c.basic_udi, watches.c.last_sync, watches.c.snapshot)
            .where(watches.c.manufacturer_srn.in_({srn for srn, _ in pairs}))
            .where(or_(*(holds_text(watches.c.snapshot, each) for each in sorted(texts))))
        )
        for row in await connection.execute(asked):
            yield row


def _watched(now: int) -> Select[tuple[str]]:
    """The devices that active accounts watch."""
    is_active: ColumnElement[bool] = accounts.c.expires_at > now
    joined = select(watches.c.subject).join(accounts, accounts.c.id == watches.c.account_id)
    return joined.where(watches.c.kind == "udi", is_active)


def _is_found(certificate: SeenCertificate) -> bool:
    """Whether a search found a certificate that the register still lists for a device, as far as was read."""
    return certificate.listed_in == "search" and not certificate.is_scoped and not certificate.is_gone


def _has_other(snapshot: str, read_at: int | None, reads: Sequence[CertificateRead], today: date) -> bool:
    """Whether newer reads of other devices have a certificate of a watch otherwise, whose snapshot is of `read_at`."""
    certificates = listed_certificates(decoded(snapshot).certs or ())
    own = [shown_of(each, today) for each in certificates]
    return any(newer_reads(own, [iso_utc(read_at or 0)] * len(own), reads, today))
