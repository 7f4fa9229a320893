"""However the register changes and is read, a record as of an instant is what the register said when it was read last.

`AS_OF_EXAMPLES=300` in the environment runs many examples.
"""

import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registerwatch.lookup.history_service import DROPPED
from registerwatch.platform.clock import iso_utc
from tests.register.builders import PROPERTY
from tests.rest.journal_steps import CHANGES, DAY, HOUR, KEPT, LOOKS, MAX_RECORDS, UDIS, JournalSteps
from tests.rest.register_journal import JournalWorld, Look, RegisterJournal, Seen
from tests.support.harness import EMAIL, ServiceHarness, ServiceStarter

EXAMPLES = settings(PROPERTY, max_examples=int(os.environ.get("AS_OF_EXAMPLES", "4")))
Answer = dict[str, Any]

steps = st.lists(
    st.tuples(
        st.sampled_from((0, 1, 70, 700, HOUR + 1, DAY + 1, 8 * DAY)),
        st.lists(st.tuples(st.sampled_from(CHANGES), st.integers(0, 23)), max_size=3),
        st.sampled_from(LOOKS),
    ),
    min_size=8,
    max_size=24,
)
"""Seconds that pass, what changes in the register then, and what is read."""


@pytest.fixture
async def taken(start_service: ServiceStarter) -> AsyncIterator[JournalSteps]:
    """Steps over a service and the register that it reads."""
    world = JournalWorld()
    async with start_service(world=world) as harness:
        world.service_clock = harness.clock
        yield JournalSteps(harness, world, await harness.owner(EMAIL))


@EXAMPLES
@given(steps)
async def test_a_record_as_of_an_instant_is_what_the_register_said_when_it_was_read_last(
    taken: JournalSteps, examples: list[tuple[int, list[tuple[str, int]], str]]
) -> None:
    await taken.begin()
    for seconds, changes, look in examples:
        taken.harness.clock.move(seconds)
        for name, place in changes:
            taken.change(name, place)
        await taken.look(look)

    taken.harness.clock.move(5)
    checks = AsOfChecks(taken.harness, taken.journal, taken.is_pruned)
    instants = taken.journal.instants(taken.began_at)
    for instant in instants:
        await checks.actor(instant)
        for udi in UDIS:
            await checks.device(udi, instant)
    for ulid in sorted(taken.ulids):
        await checks.certificate(ulid)


@dataclass(frozen=True, slots=True)
class AsOfChecks:
    """Holds what is answered of the past against the register's journal."""

    harness: ServiceHarness
    journal: RegisterJournal
    is_pruned: bool

    async def device(self, udi: str, instant: int) -> None:
        """A device as of an instant."""
        told, known = await self._told(f"/v1/devices/{udi}", instant), self.journal.device(udi, instant)
        about = f"{udi} at {instant}: {told}; known {known}; seen {self.journal.seen.get(udi)}"
        if "entries" not in told:
            assert not known.records, about
            return
        if not known.records or told["device"] is None:
            self._unknown(udi, instant, told, about, is_known=bool(known.records))
            return
        device, record = told["device"], known.records[told["device"]["uuid"]]
        assert told["note"] is None, about
        assert device["uuid"] in known.answering, about
        for name, possible in record.fields.items():
            assert device[name] in possible, f"{name} is none of {possible}: {about}"
        assert told["listed"] in record.is_listed, about
        looks = [*self.journal.before(udi, instant), *self.journal.lists_before(instant)]
        assert told["unchanged_since"] in {iso_utc(each.at) for each in looks}, about
        if record.is_full:
            self._parts_of(udi, instant, told, about)
            self._certificates_of(udi, instant, device, about)
        elif not record.may_be_full:
            assert told["missing"] == ["certificates", "dates", "names"], about

    async def actor(self, instant: int) -> None:
        """The manufacturer as of an instant."""
        srn = self.journal.manufacturer
        told, known = await self._told(f"/v1/actors/{srn}", instant), self.journal.actor(instant)
        about = f"{srn} at {instant}: {told}; known {known}; seen {self.journal.seen.get(srn)}"
        if "entries" not in told:
            assert not known, about
        elif not known or told["actor"] is None:
            self._unknown(srn, instant, told, about, is_known=bool(known))
        else:
            for name, possible in known.items():
                assert told["actor"][name] in possible, f"{name} is none of {possible}: {about}"

    async def certificate(self, ulid: str) -> None:
        """The history of a certificate leads back to what each reading of the list showed."""
        told = (await self.harness.get(f"/v1/certificates/{ulid}")).json()
        assert told["found"], told
        now = {name: told[name] or "" for name in ("number", "revision", "expiry", "status")}
        now["listed"] = "Yes" if told["unlisted_at"] is None else "No"
        changes = told["history"]
        since = "" if told["history_complete"] else changes[-1]["observed_at"]
        for instant, said in self.journal.certificate_states(ulid):
            if iso_utc(instant) >= since:
                then = dict(now)
                for change in changes:
                    if change["observed_at"] > iso_utc(instant):
                        then |= {each["field"]: each["old"] for each in change["changes"] if each["field"] in now}
                assert then == said, f"{ulid} at {instant}: {told}"

    async def _told(self, address: str, instant: int) -> Answer:
        answer = await self.harness.get(f"{address}/history", at=iso_utc(instant))
        assert answer.status_code in (200, 404), answer.text
        told: Answer = answer.json()
        return told

    def _unknown(self, subject: str, instant: int, told: Answer, about: str, *, is_known: bool) -> None:
        """An answer without a record says why, and is right."""
        if not is_known:
            assert (told["note"] or "").startswith("This service had not observed it yet."), about
            return
        later = [each for each in self.journal.seen[subject] if each.at > instant]
        records = 1 if subject == self.journal.manufacturer else MAX_RECORDS
        assert (told["note"], self.is_pruned, told["complete"]) == (DROPPED, True, False), about
        assert len(later) * records >= KEPT, about

    def _parts_of(self, udi: str, instant: int, told: Answer, about: str) -> None:
        """Nothing is missing, or what a list does not have of the newer version that it showed after the read."""
        _, *later = self._since_full(udi, instant, told["device"]["uuid"])
        assert told["missing"] in ([], ["dates", "names"] if later else []), about

    def _since_full(self, udi: str, instant: int, uuid: str) -> Sequence[Seen]:
        """The last look before an instant that showed a record in full, and those that came after it."""
        looks = self.journal.before(udi, instant)
        return looks[max(place for place, each in enumerate(looks) if self.journal.shows_in_full(each, uuid)) :]

    def _certificates_of(self, udi: str, instant: int, device: Answer, about: str) -> None:
        """Certificates are those of the read in full, or as a list showed them later."""
        uuid, lists = device["uuid"], self.journal.lists_before(instant)
        full, *later = self._since_full(udi, instant, uuid)
        reads: list[Seen] = [full, *(each for each in later if each.look is Look.SWEEP)]
        possible = {each for seen in reads for each in self.journal.certificates(uuid, seen.moment)}
        told = {_key(each) for each in device["certs"]}
        if len(reads) == 1 and not any(each.at >= full.at for each in lists):
            assert {_key(each) for each in device["certs"] if not each.get("scoped")} == possible, (
                f"{possible}: {about}"
            )
        for seen in lists:
            possible |= self.journal.certificates(uuid, full.moment, seen.moment)
        assert told <= possible, f"{possible}: {about}"


def _key(certificate: Answer) -> tuple[str, str, str | None, str]:
    status = certificate.get("status_code", "").rpartition(".")[2]
    return certificate["number"], certificate["revision"], certificate.get("expiry"), status
