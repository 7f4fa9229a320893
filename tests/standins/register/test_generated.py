"""The generated world: the same each time, plausible as a whole, and found without looking through it."""

import time
from collections import Counter

import pytest

from registerwatch_standins.register.generated import GeneratedArchive, GeneratedWorld
from registerwatch_standins.register.generation.vocabulary import LANGUAGES
from registerwatch_standins.register.records import DEVICE_STATUSES, DIRECTIVES, OF_BASIC_UDI, Registration

RISK_CLASSES = {f"class-{name}" for name in ("i", "iia", "iib", "iii", "a", "b", "c", "d")}
LEGACY_RISK_CLASSES = {"aimdd", "ivd-general", "ivd-annex-ii-list-a", "ivd-annex-ii-list-b", "ivd-devices-self-testing"}


@pytest.fixture(scope="module")
def records() -> list[Registration]:
    archive = GeneratedArchive(20_000, seed=3)
    return [archive.registration(position) for position in range(archive.count)]


def test_the_same_seed_makes_the_same_records() -> None:
    first, second, other = (GeneratedArchive(500, seed) for seed in (8, 8, 9))
    backwards = [second.registration(at) for at in reversed(range(500))]
    assert [first.registration(at) for at in range(500)] == backwards[::-1]
    assert len({record.uuid for record in backwards}) == 500
    assert first.registration(17) != other.registration(17)
    assert first.listings() == second.listings()


def test_twins_are_a_directives_record_or_a_superseded_version(records: list[Registration]) -> None:
    by_di: dict[str, list[Registration]] = {}
    for record in records:
        by_di.setdefault(record.primary_di, []).append(record)
    kinds: Counter[str] = Counter()
    for twins in (found for found in by_di.values() if len(found) > 1):
        assert len(twins) == 2
        legislations = {record.legislation in DIRECTIVES for record in twins}
        latest = {record.latest_version for record in twins}
        if len(legislations) == 2:
            kinds["legacy"] += 1
            assert latest == {True}
        else:
            kinds["superseded"] += 1
            old, new = sorted(twins, key=lambda record: record.version_number)
            assert (old.latest_version, new.latest_version) == (False, True)
            assert old.version_number < new.version_number
    assert min(kinds["legacy"], kinds["superseded"]) > 50
    assert 0.015 < kinds.total() / len(records) < 0.025


def test_sizes_of_manufacturers_are_skewed(records: list[Registration]) -> None:
    sizes = sorted(Counter(record.manufacturer.srn for record in records).values())
    assert 60 < len(records) / len(sizes) < 70
    assert sizes[len(sizes) // 2] < 20 < 500 < sizes[-1]


def test_legacy_registrations_have_no_basic_udi_di_and_no_device_name(records: list[Registration]) -> None:
    legacy = [record for record in records if record.legislation in DIRECTIVES]
    assert 0.12 < len(legacy) / len(records) < 0.22
    assert all(record.basic_udi is None and record.device_name is None for record in legacy)
    assert all(record.basic_udi for record in records if record.legislation not in DIRECTIVES)


def test_shares_of_codes_are_roughly_those_of_the_real_register(records: list[Registration]) -> None:
    risks = Counter(record.risk_class for record in records)
    statuses = Counter(record.status for record in records)
    assert 0.6 < risks["class-i"] / len(records) < 0.85
    assert 0.05 < risks["class-iib"] / len(records) < 0.25
    assert 0.96 < statuses["on-the-market"] / len(records) < 0.99
    assert set(statuses) == set(DEVICE_STATUSES)
    assert set(risks) <= {*RISK_CLASSES, *LEGACY_RISK_CLASSES}
    assert {record.legislation for record in records} <= {"mdr", "ivdr", *DIRECTIVES}


def test_a_few_words_are_in_very_many_trade_names_and_most_in_few(records: list[Registration]) -> None:
    names = [name for record in records for name in (record.trade_names or {}).values()]
    words = Counter(word.lower().strip(",") for name in names for word in name.split())
    assert len(words) > 2000
    assert words["sterile"] > 40 * words.most_common(1000)[-1][1]
    assert {language for record in records for language in record.trade_names or {}} == set(LANGUAGES)
    assert {"set", "steril", "titan", "screw", "mm", "3,5", "τιτάνιο", "стерилен"} <= words.keys()


def test_newer_ranks_have_later_dates() -> None:
    archive = GeneratedArchive(5000, 2)
    days = [archive.registration(archive.oldest(rank)) for rank in range(5000)]
    firsts = [record.version_date for record in days if record.version_number == 1]
    assert [stamp[:10] for stamp in firsts] == sorted(stamp[:10] for stamp in firsts)
    assert firsts[0].startswith("2021-10")
    assert firsts[-1].startswith("2026-09")
    assert [record.registered for record in days] == sorted(record.registered for record in days)


def test_registrations_of_one_basic_udi_di_agree_in_what_its_record_says() -> None:
    archive = GeneratedArchive(5000, 2)
    records = [archive.registration(at) for at in range(5000)]
    said: dict[str, set[object]] = {}
    for record in records:
        shared = tuple(getattr(record, field) for field in sorted(OF_BASIC_UDI))
        said.setdefault(record.basic_code, set()).add((*shared, record.last_updated))
    assert len(records) > 2 * len(said)
    assert {len(versions) for versions in said.values()} == {1}


def test_unknown_codes_come_only_when_asked_for() -> None:
    archive = GeneratedArchive(20_000, 3, future_codes=True)
    future = [archive.registration(at) for at in range(20_000)]
    assert {record.status for record in future} - set(DEVICE_STATUSES) == {"temporarily-suspended"}
    assert {record.risk_class for record in future} - {*RISK_CLASSES, *LEGACY_RISK_CLASSES} == {"class-is"}


@pytest.mark.parametrize("devices", [1, 2, 10, 15, 16, 17, 99])
def test_small_worlds_are_whole(devices: int) -> None:
    world = GeneratedWorld(devices, seed=1)
    assert len({record.uuid for record in world.newest(0, 1000)}) == devices
    assert world.oldest(0, 1000) == world.newest(0, 1000)[::-1]


@pytest.mark.parametrize("devices", [0, -1, 12_000_001])
def test_an_impossible_number_of_devices_is_refused(devices: int) -> None:
    with pytest.raises(ValueError, match="registrations"):
        GeneratedArchive(devices, 1)


def test_a_register_of_three_million_answers_in_milliseconds() -> None:
    world = GeneratedWorld(3_200_000, seed=1)
    chosen = world.oldest(1_234_567, 1)[0]
    assert world.by_primary_di(chosen.primary_di), "the first search makes the index of manufacturers"
    started = time.perf_counter()
    for _ in range(20):
        assert chosen in world.by_primary_di(chosen.primary_di)
        assert world.by_uuid(chosen.uuid) == chosen
        assert world.newest(2_999_999, 1)
        assert world.actor(chosen.manufacturer.srn)
    assert (time.perf_counter() - started) / 20 < 0.02
