"""The parts of `/health` and `/metrics` about sweeps, lists, the pace of requests and checks of the register."""

from collections.abc import Mapping
from typing import Annotated, Literal

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from registerwatch.copy.unread_fields import StoredUnreadField
from registerwatch.copy.walks import WalkRow
from registerwatch.ingest.checks.check_rules import RegisterCheck
from registerwatch.ingest.checks.register_status import CheckState, RegisterStatus, state_of
from registerwatch.ingest.sweeps.sweep_state import DeviceSweepState
from registerwatch.sources.checks.assumptions import ASSUMPTIONS
from registerwatch.watches.events.event_latency import Latency
from registerwatch.web.answers.answers import EXAMPLE_INSTANT, Answer, doc, instant, iso_or_none

StateName = Literal["not_looked", "unanswered", "fine", "changed"]


class HealthDeviceSweep(Answer):
    """The sweep that lists the devices of manufacturers that are watched or have watched devices."""

    manufacturers: Annotated[int, doc("Manufacturers that are swept.", 500)]
    unswept: Annotated[int, doc("Those that were never listed to the end.", 0)]
    behind: Annotated[int, doc("Those that were not listed to the end within half an hour.", 12)]
    failing: Annotated[int, doc("Those whose last try failed.", 0)]
    oldest_at: Annotated[
        str | None,
        instant("Since when the longest unswept one is unswept: last listed, or added; null where nothing is swept."),
    ]
    oldest_seconds: Annotated[int | None, doc("How long that is ago.", 1260)]


class HealthList(Answer):
    """A list of the register that is read from end to end."""

    complete_at: Annotated[str | None, instant("When the last read of the whole list began, null before the first.")]
    age_seconds: Annotated[int | None, doc("How long that is ago.", 2400)]
    began_at: Annotated[str, instant("When the last read began, complete or not.")]
    listed: Annotated[int, doc("Records that it saw.", 4654)]
    total: Annotated[int | None, doc("Records that the register counted meanwhile, null when not known.", 4654)]
    error: Annotated[
        str | None,
        doc(
            "Why it was not complete, null where it was, or goes on.",
            "The register (ec.europa.eu) is throttling requests (status 429).",
        ),
    ]


class HealthSweeps(Answer):
    """How far the sweeps are."""

    devices: Annotated[HealthDeviceSweep, doc("The sweep of devices.")]
    lists: Annotated[
        dict[str, HealthList],
        doc(
            "Each list that was ever read, by its name: `certificates`, `refusals`, `notified bodies`.",
            {
                "certificates": {
                    "complete_at": EXAMPLE_INSTANT,
                    "age_seconds": 2400,
                    "began_at": EXAMPLE_INSTANT,
                    "listed": 4654,
                    "total": 4654,
                    "error": None,
                }
            },
        ),
    ]


class HealthPace(Answer):
    """How fast requests are sent to a host of the register."""

    requests_per_minute: Annotated[int, doc("Most requests that are sent in a minute now, over all processes.", 30)]
    most: Annotated[int, doc("What that may rise to, by the settings.", 60)]
    paused_until: Annotated[
        str | None, instant("The host throttled requests: none is sent before this. Null where there is no pause.")
    ]


class HealthRegisterCheck(Answer):
    """What was last verified of one thing that we rely on."""

    state: Annotated[
        StateName,
        doc(
            "`fine`; `changed`: the register answers differently than before; `unanswered`: it did not answer the last"
            " look; `not_looked`: nobody has looked yet.",
            "fine",
        ),
    ]
    checked_at: Annotated[str | None, instant("Last look that the register answered, null before the first.")]
    found: Annotated[str, doc("What that look found: a sentence or a value, empty for nothing to tell.", "2.27.3")]
    changed_at: Annotated[str | None, instant("When that last became another, null when it never did.")]
    unanswered_since: Annotated[str | None, instant("First look that was not answered, null where the last one was.")]
    reason: Annotated[
        str | None,
        doc(
            "Why it was not answered, null where it was.",
            "The register (ec.europa.eu) is throttling requests (status 429).",
        ),
    ]
    meaning: Annotated[
        str | None, doc("What that means for the service, and what to do; null where nothing differs.", None)
    ]


_EXAMPLE_CHECK = {
    "state": "fine",
    "checked_at": EXAMPLE_INSTANT,
    "found": "2.27.3",
    "changed_at": None,
    "unanswered_since": None,
    "reason": None,
    "meaning": None,
}


class HealthUnreadField(Answer):
    """A field of a kind of record that could not be read. It is unknown for these records; nothing else is lost."""

    record: Annotated[str, doc("The kind of record.", "Data Lake device")]
    field: Annotated[
        str, doc("The field, as the register names it; `whole row` where a row had no key.", "RISK_CLASS_ID")
    ]
    records: Annotated[int, doc("In how many records.", 12)]
    example: Annotated[str, doc("Its first value, shortened.", "a list of 2")]
    first_at: Annotated[str, instant("When that was first stored.")]
    last_at: Annotated[str, instant("When that was last stored.")]


class HealthRegisterChecks(Answer):
    """What was verified of how the register answers."""

    build: Annotated[str | None, doc("The register's build, null when not known.", "2.27.3")]
    changed: Annotated[
        list[str], doc("Checks that found another answer than we rely on, by their names.", ["filter srn"])
    ]
    checks: Annotated[dict[str, HealthRegisterCheck], doc("Every check by its name.", {"build": _EXAMPLE_CHECK})]
    unread_fields: Annotated[
        list[HealthUnreadField],
        doc("Fields that could not be read within 30 days, the last one first. Empty where all could be."),
    ]


def health_paces(status: RegisterStatus) -> dict[str, HealthPace]:
    """The pace of requests to each host in `/health`."""
    return {
        host.value: HealthPace(pace.per_minute, pace.most, iso_or_none(pace.paused_until))
        for host, pace in status.paces.items()
    }


def health_sweeps(status: RegisterStatus) -> HealthSweeps:
    """The part of the sweeps in `/health`."""
    lists = {name: _health_list(walk, status.at) for name, walk in status.sweeps.walks.items()}
    return HealthSweeps(_health_device_sweep(status.sweeps.devices, status.at), lists)


def health_checks(status: RegisterStatus) -> HealthRegisterChecks:
    """The part of the checks in `/health`."""
    checks = {name.value: _health_check(check) for name, check in status.checks.items()}
    unread = [_health_unread_field(each) for each in status.unread_fields]
    return HealthRegisterChecks(status.build or None, [name.value for name in status.changed], checks, unread)


def _health_device_sweep(sweep: DeviceSweepState, now: int) -> HealthDeviceSweep:
    return HealthDeviceSweep(
        sweep.manufacturers,
        sweep.unswept,
        sweep.behind,
        sweep.failing,
        iso_or_none(sweep.oldest_at),
        _age(sweep.oldest_at, now),
    )


def _health_list(walk: WalkRow, now: int) -> HealthList:
    return HealthList(
        iso_or_none(walk.complete_at),
        _age(walk.complete_at, now),
        iso_or_none(walk.began_at) or "",
        walk.listed,
        walk.total,
        walk.problem or None,
    )


def _health_check(check: RegisterCheck) -> HealthRegisterCheck:
    return HealthRegisterCheck(
        state=state_of(check).value,
        checked_at=iso_or_none(check.checked_at),
        found=check.found,
        changed_at=iso_or_none(check.changed_at),
        unanswered_since=iso_or_none(check.unanswered_since),
        reason=check.reason or None,
        meaning=ASSUMPTIONS[check.name].if_differs if state_of(check) is CheckState.CHANGED else None,
    )


def _health_unread_field(unread: StoredUnreadField) -> HealthUnreadField:
    return HealthUnreadField(
        unread.record,
        unread.field,
        unread.records,
        unread.example,
        iso_or_none(unread.first_at) or "",
        iso_or_none(unread.last_at) or "",
    )


def _age(since: int | None, now: int) -> int | None:
    return None if since is None else max(0, now - since)


def status_metrics(status: RegisterStatus) -> list[Metric]:
    """The metrics of sweeps, lists, paces and checks. What is not known has no sample, rather than a wrong one."""
    return [
        *_sweep_metrics(status.sweeps.devices, status.at),
        *_list_metrics(status),
        *_pace_metrics(status),
        *_check_metrics(status),
        _unread_metric(status),
    ]


def _unread_metric(status: RegisterStatus) -> Metric:
    unread = CounterMetricFamily(
        "registerwatch_unread_fields",
        "Records of which a field could not be read, over all processes.",
        labels=("record", "field"),
    )
    for each in status.unread_fields:
        unread.add_metric((each.record, each.field), each.records)
    return unread


def latency_metrics(latencies: Mapping[str, Latency]) -> list[Metric]:
    """The metrics of how quickly changes become events."""
    seconds = GaugeMetricFamily(
        "registerwatch_event_latency_seconds",
        "From when a change was first visible to the event, of events of the last hour.",
        labels=("kind", "quantile"),
    )
    events = GaugeMetricFamily("registerwatch_events_of_last_hour", "Events of which that is known.", labels=("kind",))
    for kind, latency in latencies.items():
        seconds.add_metric((kind, "0.5"), latency.median)
        seconds.add_metric((kind, "0.95"), latency.p95)
        events.add_metric((kind,), latency.events)
    return [seconds, events]


def _sweep_metrics(sweep: DeviceSweepState, now: int) -> list[Metric]:
    manufacturers = GaugeMetricFamily(
        "registerwatch_swept_manufacturers",
        "Manufacturers that are swept: all, and those in a state.",
        labels=("state",),
    )
    for state in ("manufacturers", "unswept", "behind", "failing"):
        manufacturers.add_metric(("all" if state == "manufacturers" else state,), getattr(sweep, state))
    oldest = GaugeMetricFamily(
        "registerwatch_sweep_oldest_seconds", "Since when the longest unswept manufacturer is unswept."
    )
    if sweep.oldest_at is not None:
        oldest.add_metric((), max(0, now - sweep.oldest_at))
    return [manufacturers, oldest]


def _list_metrics(status: RegisterStatus) -> list[Metric]:
    age = GaugeMetricFamily(
        "registerwatch_list_age_seconds", "Since the last read of a whole list began.", labels=("list",)
    )
    listed = GaugeMetricFamily("registerwatch_list_records", "Records that its last read saw.", labels=("list",))
    complete = GaugeMetricFamily("registerwatch_list_complete", "1 where its last read saw all.", labels=("list",))
    for name, walk in status.sweeps.walks.items():
        if walk.complete_at is not None:
            age.add_metric((name,), max(0, status.at - walk.complete_at))
        listed.add_metric((name,), walk.listed)
        complete.add_metric((name,), float(not walk.problem and walk.complete_at is not None))
    return [age, listed, complete]


def _pace_metrics(status: RegisterStatus) -> list[Metric]:
    pace = GaugeMetricFamily(
        "registerwatch_register_pace", "Most requests to a host that are sent in a minute now.", labels=("host",)
    )
    most = GaugeMetricFamily(
        "registerwatch_register_pace_most", "What that may rise to, by the settings.", labels=("host",)
    )
    for host, each in status.paces.items():
        pace.add_metric((host.value,), each.per_minute)
        most.add_metric((host.value,), each.most)
    return [pace, most]


def _check_metrics(status: RegisterStatus) -> list[Metric]:
    states = GaugeMetricFamily("registerwatch_register_checks", "Checks of the register by state.", labels=("state",))
    found = [state_of(check) for check in status.checks.values()]
    for state in CheckState:
        states.add_metric((state.value,), found.count(state))
    changed = GaugeMetricFamily(
        "registerwatch_register_check_changed", "1 for a check that found another answer.", labels=("check",)
    )
    age = GaugeMetricFamily(
        "registerwatch_register_check_age_seconds", "Since the register answered a check.", labels=("check",)
    )
    for name, check in status.checks.items():
        changed.add_metric((name.value,), float(state_of(check) is CheckState.CHANGED))
        if check.checked_at is not None:
            age.add_metric((name.value,), max(0, status.at - check.checked_at))
    build = GaugeMetricFamily("registerwatch_register_build", "1 for the register's build.", labels=("build",))
    if status.build:
        build.add_metric((status.build,), 1)
    return [states, changed, age, build]
