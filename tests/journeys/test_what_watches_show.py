"""Nobody but who watches is shown what is watched: every public route, walked by strangers while others watch.

The register's content does not change here. Every answer about a watched device, manufacturer or certificate is then
the same as before, or has changed as that of its neighbours did that nobody watches. A public route that is in no table
fails a test.
"""

import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff

import httpx2
import pytest

from registerwatch.copy.tables import certificates, device_certificates, portfolio_news, walks
from registerwatch.pages.sitemap import Sitemap
from registerwatch.platform.clock import iso_utc, utc_in_words
from registerwatch_standins.register.records import Registration
from tests.mcp.messages import posted, using
from tests.pages.account.page_walk import page_routes
from tests.pages.markup import Markup
from tests.register.builders import a_registered_certificate
from tests.rest.test_access import PUBLIC
from tests.support.harness import NOW, NewAccount, ServiceHarness, ServiceStarter
from tests.watches.sweep_steps import register_more, runs

HOUR, DAY = 3600, 24 * 3600
DEVICES, WATCHED = 34, 10
DEVICES_BY_DAY, WATCHED_BY_DAY = 10, 3
THEN = iso_utc(NOW + HOUR)
"""When everything was stored, and strangers had not begun to walk."""
SEARCH = "certificate-search"
NO_DOCUMENT = "00000000-0000-4000-8000-000000000000"

Address = tuple[str, Mapping[str, str]]
"""What is asked for, and with which headers."""
WAITING = {"Prefer": "wait=3"}


def _plain(*paths: str) -> Sequence[Address]:
    return [(path, {}) for path in paths]


def _of_device(udi: str) -> Mapping[str, Sequence[Address]]:
    """What strangers ask about a device, by route."""
    return {
        "/v1/devices/{udi}": [*_plain(f"/v1/devices/{udi}"), (f"/v1/devices/{udi}", WAITING)],
        "/v1/devices/{udi}/history": _plain(
            f"/v1/devices/{udi}/history", f"/v1/devices/{udi}/history?at={THEN}&limit=1"
        ),
        "/v1/search": _plain(f"/v1/search?q={udi}"),
        "/v1/parse": _plain(f"/v1/parse?code={udi}"),
        "/": _plain(f"/?q={udi}"),
        "/d/{udi}": _plain(f"/d/{udi}"),
        "/d/{udi}/history": _plain(f"/d/{udi}/history", f"/d/{udi}/history?at={THEN}"),
        "/compare": _plain(f"/compare?d={udi}&at={THEN}&at={iso_utc(NOW + HOUR + 60)}"),
        "/compare.csv": _plain(f"/compare.csv?d={udi}&at={THEN}&at={iso_utc(NOW + HOUR + 60)}"),
    }


def _of_actor(srn: str) -> Mapping[str, Sequence[Address]]:
    """The same of a manufacturer."""
    return {
        "/v1/actors/{srn}": [*_plain(f"/v1/actors/{srn}"), (f"/v1/actors/{srn}", WAITING)],
        "/v1/actors/{srn}/history": _plain(f"/v1/actors/{srn}/history", f"/v1/actors/{srn}/history?at={THEN}"),
        "/v1/actors/{srn}/certificates": _plain(f"/v1/actors/{srn}/certificates"),
        "/v1/search": _plain(f"/v1/search?q={srn}", f"/v1/search?manufacturer={srn}&facets=all"),
        "/": _plain(f"/?q={srn}"),
        "/a/{srn}": _plain(f"/a/{srn}"),
        "/a/{srn}/history": _plain(f"/a/{srn}/history", f"/a/{srn}/history?at={THEN}"),
    }


def _of_certificate(certificate_id: str) -> Mapping[str, Sequence[Address]]:
    """The same of a certificate."""
    return {
        "/v1/certificates/{id}": _plain(f"/v1/certificates/{certificate_id}"),
        "/v1/certificates/{id}/documents/{uuid}": _plain(f"/v1/certificates/{certificate_id}/documents/{NO_DOCUMENT}"),
        "/c/{certificate_id}": _plain(f"/c/{certificate_id}"),
    }


def _of_all(first_srn: str) -> Mapping[str, Sequence[Address]]:
    """What strangers ask about no record in particular; `first_srn` is the first that is stored."""
    return {
        "/v1/search": _plain("/v1/search?risk=iia&facets=all", "/v1/search?status=on&page=2"),
        "/v1/certificates": _plain("/v1/certificates?expires_before=2040-01-01", "/v1/certificates?status=issued"),
        "/": _plain("/", "/?status=on"),
        "/sitemap.xml": _plain("/sitemap.xml"),
        "/sitemap-pages.xml": _plain("/sitemap-pages.xml"),
        "/sitemap-devices-{part}.xml": _plain("/sitemap-devices-1.xml"),
        "/sitemap-actors-{first}.xml": _plain(f"/sitemap-actors-{first_srn}.xml"),
        "/openapi.json": _plain("/openapi.json"),
    }


OF_THE_SERVICE = {"/health", "/ready", "/live", "/status"}
"""What tells how the service as a whole is: how much was read, and nothing of any record."""
ASKS_THE_REGISTER = {"/v1/refresh"}
"""What has a record read: a test of its own asks for it."""
OF_NO_RECORD = re.compile(r"/(account|billing|docs|favicon\.ico|mail|password|robots\.txt|static)(/|$)")

_REQUEST = re.compile(r'"request_id":"[0-9a-f]+"')


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as a stranger keeps it, but for what differs from request to request, and for when the lists of
    certificates were read: one sweep reads them, for everybody.
    """

    status: int
    headers: Mapping[str, str]
    body: str

    @classmethod
    def of(cls, response: httpx2.Response, swept_at: int) -> "Answer":
        headers = {name: value for name, value in response.headers.items() if name != "x-request-id"}
        body = _REQUEST.sub("", response.text)
        if iso_utc(swept_at) in body:
            body = body.replace(iso_utc(swept_at), "(swept)").replace(utc_in_words(swept_at), "(swept)")
            headers = {name: value for name, value in headers.items() if name not in ("etag", "content-length")}
        return cls(response.status_code, headers, body)


@dataclass
class Stage:
    """Devices, their manufacturers and certificates, all of which strangers have read in full, and somebody who will
    watch some of them.
    """

    harness: ServiceHarness
    devices: Sequence[Registration]
    watched: Sequence[Registration]
    watched_srns: Sequence[str]
    certificate_ids: Sequence[str]
    owner: NewAccount

    @property
    def udis(self) -> Sequence[str]:
        return [each.primary_di for each in self.devices]

    @property
    def srns(self) -> Sequence[str]:
        return list(dict.fromkeys(each.manufacturer.srn for each in self.devices))

    @property
    def watched_codes(self) -> set[str]:
        return {*(each.primary_di for each in self.watched), *self.watched_srns}

    async def walk(self) -> dict[str, Answer]:
        """Ask for everything once, as nobody: every answer by what was asked."""
        lists = await self.harness.rows(walks)
        swept_at = next(each["began_at"] for each in lists if each["name"] == "certificates")
        first_srn = min(row["srn"] for row in self.harness.all_rows()["actors"])
        routes = (
            *map(_of_device, self.udis),
            *map(_of_actor, self.srns),
            *map(_of_certificate, self.certificate_ids),
            _of_all(first_srn),
        )
        found = {}
        for path, headers in (each for of_record in routes for addresses in of_record.values() for each in addresses):
            response = await self.harness.client.get(path, headers=dict(headers))
            found[f"{path} {json.dumps(headers)}"] = Answer.of(response, swept_at)
        tools = [
            *((tool, {"udi": each}) for each in self.udis for tool in ("lookup_udi", "get_device")),
            *(("get_actor", {"srn": each}) for each in self.srns),
            *(("search_devices", {"q": each}) for each in (*self.udis, *self.srns)),
        ]
        for tool, arguments in tools:
            response = await posted(self.harness, using(tool, arguments))
            found[f"{tool} {arguments}"] = Answer.of(response, swept_at)
        return found

    async def watch(self, hours: int = 1) -> None:
        """Watch, with rechecks, sweeps and syncs. Certificates are swept for everybody meanwhile."""
        await self.harness.post_watches(self.owner.api_key, *sorted(self.watched_codes))
        for _ in range(hours):
            await self._watch_for_an_hour()

    async def _watch_for_an_hour(self) -> None:
        for _ in range(6):
            self.harness.clock.move(600)
            assert (await self.harness.service.watches.recheck.run()).found > 0
            await runs(self.harness)
        await sweep_certificates(self.harness)
        answer = await self.harness.post_sync(self.owner.api_key)
        assert answer["synced"] == len(self.watched_codes)
        await self.harness.finish_background_work()
        await self.harness.update_index()

    async def read_at(self, code: str) -> tuple[str | None, ...]:
        """When a stranger is told that a record was read: the whole, its certificates, what it shares with others."""
        kind = "actors" if code in self.srns else "devices"
        answer = (await self.harness.get(f"/v1/{kind}/{code}")).json()
        return tuple(answer.get(name) for name in ("read_at", "certs_read_at", "basic_read_at"))


@pytest.fixture
async def stage(start_service: ServiceStarter, is_nightly: bool) -> AsyncIterator[Stage]:
    count, watched = (DEVICES, WATCHED) if is_nightly else (DEVICES_BY_DAY, WATCHED_BY_DAY)
    async with start_service(recheck_watches_per_run=4 if is_nightly else 1) as harness:
        for number, each in enumerate(harness.unique_devices(count)):
            listed = (a_registered_certificate(f"D-{number}"), a_registered_certificate(f"Z-{number}", SEARCH))
            harness.world.change(each.uuid, new_version=False, certificates=listed)
        await harness.fill_copy()
        devices = harness.unique_devices(count)
        srns = list(dict.fromkeys(each.manufacturer.srn for each in devices))
        harness.clock.move(120)
        await sweep_certificates(harness)
        harness.clock.move(120)
        for code in (*(each.primary_di for each in devices), *srns):
            assert (await harness.get("/v1/refresh", q=code)).json()["refreshed"]
            await harness.finish_background_work()
        ids = [row["id"] for row in await harness.rows(certificates) if row["srn"] in srns]
        harness.app.state.sitemap = Sitemap.of(harness.service)
        owner = await harness.sign_up()
        harness.clock.move(HOUR + 120)
        await sweep_certificates(harness)
        harness.clock.move(120)
        yield Stage(harness, devices, devices[::3][:watched], srns[::4], ids, owner)


async def sweep_certificates(harness: ServiceHarness) -> None:
    """Read the list of certificates, and the scopes of all that it has."""
    await harness.service.certificate_sweep.run_where_due()
    while await harness.service.certificate_sweep.read_due_scopes():
        harness.clock.move(60)


async def test_every_public_route_is_in_a_table_here(harness: ServiceHarness) -> None:
    pages = {each.path for each in page_routes(harness.app) if each.method == "GET" and not each.is_of_account}
    interface = {label.partition(" ")[2] for label in PUBLIC if label.startswith("GET ")}
    walked = {*_of_device(""), *_of_actor(""), *_of_certificate(""), *_of_all("")}

    found = {each for each in pages | interface if not OF_NO_RECORD.match(each)}

    assert found == walked | OF_THE_SERVICE | ASKS_THE_REGISTER


async def test_every_answer_is_byte_for_byte_the_same_after_hours_of_watching(stage: Stage, is_nightly: bool) -> None:
    before = await stage.walk()

    await stage.watch(hours=3 if is_nightly else 2)

    after = await stage.walk()
    assert [asked for asked, answer in before.items() if answer.status != 200 and NO_DOCUMENT not in asked] == []
    assert await stage.harness.get_list(stage.owner.api_key, "events") == []
    differing = [asked for asked, answer in before.items() if after[asked] != answer]
    assert differing == [], "\n".join(
        unified_diff(before[differing[0]].body.splitlines(), after[differing[0]].body.splitlines(), lineterm="", n=0)
    )


async def test_who_watches_is_told_when_it_was_read(stage: Stage) -> None:
    await stage.watch()

    told = await stage.harness.get_list(stage.owner.api_key, "watches")

    now = stage.harness.now
    assert {each["last_sync"] for each in told} <= {iso_utc(at) for at in range(now - 60, now + 1)}
    assert {each["last_error"] for each in told} == {""}


async def test_a_record_that_is_old_to_strangers_is_read_for_the_first_who_asks_watched_or_not(stage: Stage) -> None:
    await stage.watch(hours=6)

    for code in (*stage.udis, *stage.srns):
        stage.harness.clock.move(20)
        old = await stage.read_at(code)
        await stage.harness.finish_background_work()
        [read_at, *parts] = await stage.read_at(code)

        assert (old[0] or "") < iso_utc(NOW + HOUR), code
        assert read_at == iso_utc(stage.harness.now), code
        assert all(each is None or iso_utc(NOW + 6 * HOUR) < each for each in parts), code


@pytest.mark.nightly
async def test_devices_that_share_a_record_do_not_show_that_it_was_read_for_a_watch(
    start_service: ServiceStarter,
) -> None:
    async with start_service() as harness:
        [like] = [each for each in harness.unique_devices(20) if each.legislation == "mdr" and each.basic_udi][:1]
        watched, other = register_more(harness, like, 2, basic_udi="++SHARED", certificates=())
        owner = await harness.sign_up()
        for device in (watched, other):
            assert (await harness.get("/v1/refresh", q=device.primary_di)).json()["refreshed"]
        await harness.post_watches(owner.api_key, watched.primary_di)
        harness.clock.move(7 * HOUR)
        await harness.post_sync(owner.api_key)
        harness.clock.move(600)

        await harness.get(f"/v1/devices/{other.primary_di}")
        await harness.finish_background_work()

        told = (await harness.get(f"/v1/devices/{other.primary_di}")).json()
        assert {told[name] for name in ("read_at", "basic_read_at", "certs_read_at")} == {iso_utc(harness.now)}


@pytest.mark.nightly
async def test_a_refresh_answers_alike_and_asks_as_much_of_the_register_watched_or_not(stage: Stage) -> None:
    harness = stage.harness
    await harness.service.accounts.admin.set_period(stage.owner.email, None, harness.now + 30 * DAY)
    await stage.watch()
    harness.clock.move(7 * DAY)
    await harness.post_sync(stage.owner.api_key)  # details that are a week old are read again
    asked: dict[bool, set[str]] = {True: set(), False: set()}

    for code in (*stage.udis, *stage.srns):
        harness.clock.move(1)
        harness.register_log.clear()
        answer = (await harness.get("/v1/refresh", q=code)).json()
        told = answer.get("device") or answer.get("actor")
        assert (answer["refreshed"], answer["changed"], answer["error"]) == (True, False, None)
        assert told["read_at"] == iso_utc(harness.now)
        assert {told.get(name, told["read_at"]) for name in ("certs_read_at", "basic_read_at")} == {told["read_at"]}
        asked[code in stage.watched_codes].add(json.dumps(sorted(Counter(harness.register_log.kinds).items())))

    assert asked[True] == asked[False]


@pytest.mark.nightly
async def test_reads_for_watches_that_fail_leave_public_answers_as_they_are(stage: Stage) -> None:
    await stage.watch()
    before = await stage.walk()
    stage.harness.faults.fail("search", "http-500")
    stage.harness.faults.fail("actor", "http-500")
    stage.harness.clock.move(600)

    answer = await stage.harness.post_sync(stage.owner.api_key)

    assert answer["failed"] == len(stage.watched_codes)
    after = await stage.walk()
    assert [asked for asked, told in before.items() if after[asked] != told] == []


async def test_reads_for_watches_write_nothing_that_strangers_search_or_compare(stage: Stage) -> None:
    await stage.watch()
    _, before = await stage.harness.service.documents.revision()
    of_devices = await stage.harness.rows(device_certificates)

    await stage.harness.post_sync(stage.owner.api_key)

    assert (await stage.harness.service.documents.revision())[1] > before
    assert await stage.harness.service.documents.changed_since(before, 100) == []
    assert of_devices
    assert await stage.harness.rows(device_certificates) == of_devices


@pytest.mark.nightly
async def test_a_change_that_a_read_for_a_watch_found_is_shown_with_its_time(stage: Stage) -> None:
    await stage.watch()
    harness, device = stage.harness, stage.watched[0]
    harness.world.change(device.uuid, reference="NEW-1")

    await harness.post_sync(stage.owner.api_key)

    told = (await harness.get(f"/v1/devices/{device.primary_di}")).json()
    assert (told["reference"], told["read_at"]) == ("NEW-1", iso_utc(harness.now))
    [entry, *_] = (await harness.get(f"/v1/devices/{device.primary_di}/history")).json()["entries"]
    assert entry["observed_at"] == told["read_at"]


async def test_news_that_watching_brings_of_one_part_shows_no_time_of_a_read_of_other_parts(
    start_service: ServiceStarter,
) -> None:
    async with start_service() as harness:
        device = next(each for each in harness.unique_devices(20) if each.legislation == "mdr" and each.basic_udi)
        listed = (a_registered_certificate("Z-1", SEARCH),)
        harness.world.change(device.uuid, new_version=False, certificates=listed)
        udi, owner, other = device.primary_di, await harness.sign_up(), await harness.sign_up("other@acme.example")

        async def told() -> dict[str, str]:
            answer = (await harness.get(f"/v1/devices/{udi}")).json()
            names = ("reference", "read_at", "certs_read_at", "basic_read_at")
            return {name: answer[name] for name in names}

        assert (await harness.get("/v1/refresh", q=udi)).json()["refreshed"]
        before = await told()
        await harness.post_watches(owner.api_key, udi)
        harness.clock.move(600)
        assert (await harness.post_sync(owner.api_key))["synced"] == 1
        assert await told() == before

        harness.clock.move(600)
        harness.world.change(device.uuid, reference="ROW-1", new_version=False)
        await harness.post_watches(other.api_key, device.manufacturer.srn)
        assert await told() == {**before, "reference": "ROW-1"}

        harness.clock.move(600)
        harness.world.change(device.uuid, reference="READ-1", new_version=False)
        harness.faults.fail("certificates", "http-500")
        await harness.post_sync(owner.api_key)
        now = iso_utc(harness.now)
        assert await told() == {**before, "reference": "READ-1", "read_at": now, "basic_read_at": now}


@pytest.mark.nightly
async def test_an_import_takes_no_baseline_of_what_was_read_for_others_a_moment_ago(stage: Stage) -> None:
    await stage.watch(hours=6)
    other = await stage.harness.sign_up("other@stranger.example")

    await stage.harness.post("/v1/import", other.api_key, csv="\n".join(stage.udis[:20]))

    told = await stage.harness.get_list(other.api_key, "watches")
    assert {each["last_sync"] for each in told} == {None}


@pytest.mark.nightly
async def test_what_listings_of_a_watched_manufacturer_show_is_told_nobody_else(stage: Stage) -> None:
    harness, srn = stage.harness, stage.watched_srns[0]
    [device] = [each for each in stage.devices if each.manufacturer.srn == srn][:1]
    await stage.watch(hours=1)
    register_more(harness, device, 1)
    await stage.watch(hours=1)
    assert [row["srn"] for row in await harness.rows(portfolio_news)] == [srn]

    of_strangers = (await harness.get(f"/v1/actors/{srn}/history")).json()["entries"]
    pages = [Markup.of(await harness.get(path)) for path in (f"/a/{srn}", f"/a/{srn}/history")]
    session = await harness.browser_session(stage.owner.email, stage.owner.password)
    own = [
        Markup.of(await harness.client.get(path, headers={"Cookie": f"session={session}"}))
        for path in (f"/a/{srn}", f"/a/{srn}/history")
    ]

    fields = {change["field"] for entry in of_strangers for change in entry["changes"]}
    assert "devices_registered" not in fields
    assert ["Devices newly registered" in each.main for each in pages] == [False, False]
    assert ["Devices newly registered: 1" in each.main for each in own] == [True, True]
