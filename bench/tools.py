"""Part `tools`: the tool endpoint beside the REST routes that its tools stand for, the same service asked in turn."""

from collections.abc import Sequence
from contextlib import closing
from functools import partial
from urllib.parse import quote

import msgspec

from bench.figures import Row, Section
from bench.load import Client, Request, device_requests, rate, tool_call
from bench.processes import ProcessFailed
from bench.questions import sample_of
from bench.service import bring_up_to_date, served, stand_in_register
from bench.setup import Setup

PEER = "the same over REST"
GOAL_RATIO = 0.6
READ_DEVICES = 500
SEARCHES = 50


def measure(setup: Setup) -> Section:
    """Use `get_device` and `search_devices`, over a copy whose register is the generated stand-in."""
    sample = sample_of(setup)
    udis, srns = sample.udis[:READ_DEVICES], sample.srns[:SEARCHES]
    calls = [tool_call("get_device", udi=udi) for udi in udis]
    searches = [tool_call("search_devices", q=srn, limit=20) for srn in srns]
    routes = [Request(f"/v1/search?q={quote(srn, safe='')}") for srn in srns]
    with stand_in_register(setup) as register, served(setup, register) as service:
        bring_up_to_date(service.port, udis)
        row = partial(_row, setup, service.port)
        rows = [
            row("`tools/call` `get_device`, one core", calls, device_requests(udis), GOAL_RATIO),
            row("`tools/call` `search_devices` by SRN, one core", searches, routes),
        ]
    return Section("tools", "The tool endpoint", rows, [f"{setup.load_remark} Both say the same."])


def _row(
    setup: Setup,
    port: int,
    what: str,
    calls: Sequence[Request],
    routes: Sequence[Request],
    min_ratio: float | None = None,
) -> Row:
    """The tool and the route in turn. Raises `ProcessFailed` where the two do not say the same."""
    with closing(Client(port)) as client:
        called, shown = (msgspec.json.decode(client.expect(each).body) for each in (calls[0], routes[0]))
    result = called["result"]
    if result["isError"] or msgspec.json.decode(result["content"][0]["text"]) != shown:
        raise ProcessFailed(f"A tool says something else than {routes[0].target}:\n{result!r}\n{shown!r}")
    takes = {name: partial(rate, port, asked, setup.seconds) for name, asked in (("ours", calls), (PEER, routes))}
    return setup.row(what, takes, min_ratio)
