"""Part `tools`: the tool endpoint beside the REST routes that its tools stand for, the same service asked in turn."""

from functools import partial
from urllib.parse import quote

from bench.figures import Section
from bench.load import Request, device_requests, rate, tool_call
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
        asked = partial(rate, service.port, seconds=setup.seconds)
        device = {"ours": partial(asked, calls), PEER: partial(asked, device_requests(udis))}
        search = {"ours": partial(asked, searches), PEER: partial(asked, routes)}
        rows = [
            setup.row("`tools/call` `get_device`, one core", device, GOAL_RATIO),
            setup.row("`tools/call` `search_devices` by SRN, one core", search),
        ]
    return Section("tools", "The tool endpoint", rows, [setup.load_remark])
