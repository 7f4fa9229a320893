"""Part `accounts`: the account as its programs and people read it, logins, and whom a burst of logins keeps waiting."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

from bench.connection import Connection, Request
from bench.customer import KEYS, USERS, Customer, customer
from bench.figures import Figure, Row, Section, median_figure, percentile
from bench.inputs import Inputs
from bench.load import CONNECTIONS, rate, write_requests
from bench.log import timed
from bench.machine import ALL_BUT_LOAD, CORES, SERVER_CORE, pinned
from bench.pairs import Pair, SubjectReader
from bench.service import UNPACED, bring_up_to_date, device_requests, serving, stand_in_register
from bench.settings import Settings, no_collection
from bench.waiting import BURST, READS_PER_SECOND, waiting
from registerwatch.accounts.passwords import owasp_hasher

PART = "accounts"
PEER = "beside it"
READ_DEVICES = 100
PASSWORD = "correct horse battery staple"


@dataclass(frozen=True, slots=True)
class Waits:
    """How long reads took on these cores: with bursts of logins beside them, and without."""

    cores: str
    during: Figure
    quiet: Figure

    def row(self) -> Row:
        what = (
            f"device, {READS_PER_SECOND} reads/s while bursts of {BURST} sign in, {self.cores}; beside it without them"
        )
        return Row(what, self.during, {PEER: self.quiet})

    def remark(self) -> str:
        """What a row does not show: the longest waits compared, and how many got in."""
        slower = float(self.during.details["p99"]) / float(self.quiet.details["p99"])
        logins = float(self.during.details["logins_per_second"])
        return f"p99 {slower:.1f} times as long with {logins:.0f} logins/s on {self.cores}"


def measure(inputs: Inputs, settings: Settings) -> Section:
    """Read an account, sign in, read devices while many sign in; the register is the generated stand-in."""
    inputs.copy()
    reading = SubjectReader(inputs, settings)
    with stand_in_register(inputs) as register:
        with _service_with_customer(inputs, register, [SERVER_CORE]) as (port, company):
            _bring_devices_up_to_date(inputs, port)
            rows = _account(reading, port, company)
            alone = _waits(reading, port, company, [SERVER_CORE])
        with _service_with_customer(inputs, register, ALL_BUT_LOAD) as (port, company):
            rows.append(_logins(reading, port, company))
        with _service_with_customer(inputs, register, CORES) as (port, company):
            together = _waits(reading, port, company, CORES)
    rows += [alone.row(), together.row()]
    return Section(PART, "Accounts", rows, _remarks(reading, [alone, together]))


@contextmanager
def _service_with_customer(inputs: Inputs, register: str, cores: Sequence[int]) -> Iterator[tuple[int, Customer]]:
    with (
        serving(inputs, register, cores=cores, REGISTER_REQUESTS_PER_MINUTE=UNPACED) as port,
        customer(port) as company,
    ):
        yield port, company


def _account(reading: SubjectReader, port: int, company: Customer) -> list[Row]:
    ways = {"API key": company.by_key, "session": company.by_session}
    pairs = {way: reading.pair(f"an account by {way}", port, [Request("/v1/me", ways[way])]) for way in ways}
    return [
        Row(f"`GET /v1/me` by {way}, one core; beside it the bare ASGI app", pair.ours, {PEER: pair.bare})
        for way, pair in pairs.items()
    ]


def _logins(reading: SubjectReader, port: int, company: Customer) -> Row:
    """Logins on every core but the load's, and passwords compared in a plain loop, in turn."""
    settings, sent = reading.settings, write_requests(company.logins, reading.inputs.path("logins.bin"))

    def both() -> Pair:
        bare = compared_passwords(settings.seconds)
        ours = rate(port, sent, seconds=settings.seconds)
        _let_finish(port, company)
        return Pair(replace(ours, unit="logins/s"), bare)

    with timed("signing in"):
        rounds = [settings.noted(both) for _ in range(settings.rounds)]
    what = f"`POST /v1/login`, {_named(ALL_BUT_LOAD)}; beside it argon2 alone, one thread"
    return Row(
        what, median_figure([each.ours for each in rounds]), {PEER: median_figure([each.bare for each in rounds])}
    )


def compared_passwords(seconds: float) -> Figure:
    """How many passwords a second one thread compares that does nothing else."""
    hasher, times = owasp_hasher(), list[float]()
    stored = hasher.hash(PASSWORD)
    with pinned(SERVER_CORE), no_collection():
        began = time.perf_counter()
        while not times or time.perf_counter() < began + seconds:
            before = time.perf_counter()
            hasher.verify(stored, PASSWORD)
            times.append(time.perf_counter() - before)
    spread = {"p50_ms": percentile(times, 50) * 1e3, "p99_ms": percentile(times, 99) * 1e3, "max": max(times) * 1e3}
    return Figure(len(times) / sum(times), "verifications/s", spread)


def _let_finish(port: int, company: Customer) -> None:
    """Wait for the logins that a load left behind: passwords are compared in turn, so ours comes after them."""
    with closing(Connection(port)) as connection:
        connection.ask(company.logins[0])


def _waits(reading: SubjectReader, port: int, company: Customer, cores: Sequence[int]) -> Waits:
    """Reads without and with logins beside them, in turn."""
    settings, reads = reading.settings, device_requests(reading.inputs.sample().udis[:READ_DEVICES])

    def both() -> tuple[Figure, Figure]:
        quiet = waiting(port, reads, [], settings.seconds)
        return waiting(port, reads, company.logins, settings.seconds), quiet

    with timed(f"reading while others sign in, {_named(cores)}"):
        rounds = [settings.noted(both) for _ in range(settings.rounds)]
    during, quiet = (median_figure(figures) for figures in zip(*rounds, strict=True))
    return Waits(_named(cores), during, quiet)


def _bring_devices_up_to_date(inputs: Inputs, port: int) -> None:
    with closing(Connection(port)) as connection:
        bring_up_to_date(connection, inputs.sample().udis[:READ_DEVICES])


def _named(cores: Sequence[int]) -> str:
    return "one core" if len(cores) == 1 else f"{len(cores)} cores"


def _remarks(reading: SubjectReader, waits: Sequence[Waits]) -> list[str]:
    return [
        f"The account has {USERS} users and {KEYS} keys. {reading.remark()}",
        (
            f"Logins: {CONNECTIONS} at a time, the right password, the service on every core but the load's. It "
            "compares as many passwords at a time as it has cores less one, at least one and at most four. Beside it a "
            "loop that does nothing but compare them with the same parameters."
        ),
        (
            f"Reads with logins: {READS_PER_SECOND} reads/s over one connection, p50 / p99 / the longest; {BURST} "
            "logins are sent at once over as many new connections, and again as soon as all of them are answered. A "
            "read that was due while the one before it waited counts from when it was due. Ratios compare p50; "
            f"{'; '.join(each.remark() for each in waits)}."
        ),
        reading.settings.remark(),
    ]
