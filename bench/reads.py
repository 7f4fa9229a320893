"""Part `reads`: requests per second of the hot reads, beside a bare ASGI application that answers the same bytes."""

from dataclasses import replace
from functools import partial

from bench.bare import PEER, beside_bare
from bench.figures import Goal, Section
from bench.load import Request, actor_requests, device_requests, unchanged_requests
from bench.questions import sample_of
from bench.service import bring_up_to_date, served, stand_in_register
from bench.setup import Setup

GOAL_RATIO = 0.5
READ_DEVICES = 2_000


def measure(setup: Setup) -> Section:
    """Read devices, 304s, actors and health, over a copy whose register is the generated stand-in."""
    sample = sample_of(setup)
    udis, srns, behind = sample.udis[:READ_DEVICES], sample.srns, sample.udis[READ_DEVICES:]
    reads = device_requests(udis)
    with stand_in_register(setup) as register:
        with served(setup, register) as service:
            bring_up_to_date(service.port, [*udis, *srns])
            beside = partial(beside_bare, setup, port=service.port)
            devices = beside("device, 200", requests=reads)
            unchanged = unchanged_requests(service.port, reads)
            same = beside("device, 304 by `If-None-Match`", requests=unchanged)
            rows = [
                beside("device, 200, one connection", requests=reads, connections=1),
                beside("actor with its first 20 devices", requests=actor_requests(srns)),
                beside("`/health`", requests=[Request("/health")]),
            ]
        with served(setup, {"REGISTER_URL": register["REGISTER_URL"]}) as service:
            what = "device, 200, never read in full yet: 200 refreshes wait behind readers' backs"
            rows.append(beside_bare(setup, what, service.port, device_requests(behind) or reads))
    goal = Goal(f"ratio ≥ {GOAL_RATIO}", (devices.ratio(PEER) or 0) >= GOAL_RATIO)
    devices = replace(devices, goal=goal)
    same = replace(same, goal=Goal("more than with 200", same.ours.value > devices.ours.value))
    remark = f"{setup.load_remark} {len(udis):,} different UDI-DIs from all over the copy."
    return Section("reads", "Reads over HTTP, one core", [devices, same, *rows], [remark])
