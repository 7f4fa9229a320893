"""Part `accounts`: the account as its programs and people read it, logins, and how long logins keep others waiting."""

import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import cycle, islice

from bench.bare import beside_bare
from bench.figures import Figure, Row, Section, latencies
from bench.load import Client, Request, device_requests, rate
from bench.processes import ALL_BUT_LOAD, CORES, LOAD_CORE, SERVER_CORE, pinned
from bench.questions import sample_of
from bench.service import Customer, bring_up_to_date, customer, served, stand_in_register
from bench.setup import Setup
from registerwatch.accounts.passwords.passwords import owasp_hasher

READ_DEVICES = 100
READS_PER_SECOND = 200
BURST = 50
LOGIN_CORES = "one core" if len(ALL_BUT_LOAD) == 1 else f"{len(ALL_BUT_LOAD)} cores"
PASSWORD = "correct horse battery staple"


def measure(setup: Setup) -> Section:
    """Read an account, sign in, read devices while many sign in; the register is the generated stand-in."""
    udis = sample_of(setup).udis[:READ_DEVICES]
    reads, rows = device_requests(udis), list[Row]()
    with stand_in_register(setup) as register:
        with served(setup, register) as service, customer(service.port) as company:
            bring_up_to_date(service.port, udis)
            for way, headers in (("API key", company.by_key), ("session", company.by_session)):
                what = f"`GET /v1/me` by {way}, one core"
                rows.append(beside_bare(setup, what, service.port, [Request("/v1/me", headers)]))
            alone = _beside_logins(setup, service.port, company, reads, "one core")
        with served(setup, register, cores=ALL_BUT_LOAD) as service, customer(service.port) as company:
            ours, argon2 = partial(_logins, setup, service.port, company), partial(compared_passwords, setup.seconds)
            takes = {"ours": ours, "argon2 alone, one thread": argon2}
            rows.append(setup.row(f"`POST /v1/login`, {LOGIN_CORES}", takes))
        with served(setup, register, cores=CORES) as service, customer(service.port) as company:
            together = _beside_logins(setup, service.port, company, reads, f"{len(CORES)} cores")
    logins = " and ".join(f"{each.ours.details['logins_per_second']:.0f}" for each in (alone, together))
    remarks = [setup.load_remark, f"Beside the reads {logins} logins/s."]
    return Section("accounts", "Accounts", [*rows, alone, together], remarks)


def _logins(setup: Setup, port: int, company: Customer) -> Figure:
    figure = rate(port, company.logins, setup.seconds)
    with closing(Client(port)) as client:
        client.expect(company.logins[0])  # passwords are compared in turn: so those that the load left behind ended
    return replace(figure, unit="logins/s")


def compared_passwords(seconds: float) -> Figure:
    """How many passwords a second one thread compares that does nothing else."""
    hasher, count = owasp_hasher(), 0
    stored = hasher.hash(PASSWORD)
    with pinned(SERVER_CORE):
        began = time.perf_counter()
        while count == 0 or time.perf_counter() < began + seconds:
            hasher.verify(stored, PASSWORD)
            count += 1
        return Figure(count / (time.perf_counter() - began), "verifications/s")


def _beside_logins(setup: Setup, port: int, company: Customer, reads: Sequence[Request], cores: str) -> Row:
    during, quiet = (partial(timed_reads, port, reads, each, setup.seconds) for each in (company.logins, []))
    what = f"device, {READS_PER_SECOND} reads/s while bursts of {BURST} sign in, {cores}"
    return setup.row(what, {"ours": during, "without logins": quiet})


def timed_reads(port: int, reads: Sequence[Request], logins: Sequence[Request], seconds: float) -> Figure:
    """How long reads take while another process sends bursts of `logins`, if any. Raises `ProcessFailed`.

    A read that was due while the one before it still waited counts from when it was due.
    """
    times = []
    with pinned(LOAD_CORE), ProcessPoolExecutor(1) as beside, closing(Client(port)) as client:
        bursts = beside.submit(_bursts, port, logins, seconds)
        began = time.perf_counter()
        for number, read in enumerate(islice(cycle(reads), round(seconds * READS_PER_SECOND))):
            due = began + number / READS_PER_SECOND
            if (early := due - time.perf_counter()) > 0:
                time.sleep(early)
                due = time.perf_counter()
            client.expect(read)
            times.append(time.perf_counter() - due)
        return latencies(times, logins_per_second=bursts.result())


def _bursts(port: int, logins: Sequence[Request], seconds: float) -> float:
    """Logins a second: `BURST` at once over as many new connections, and again as soon as all are answered."""
    began, signed_in = time.perf_counter(), 0
    with ThreadPoolExecutor(BURST) as threads:
        while logins and time.perf_counter() < began + seconds:
            signed_in += len(list(threads.map(partial(_sign_in, port), islice(cycle(logins), BURST))))
    return signed_in / (time.perf_counter() - began)


def _sign_in(port: int, login: Request) -> None:
    with closing(Client(port)) as client:
        client.expect(login)
