"""Part `tools`: the tool endpoint beside the REST routes that its tools stand for, the same service asked in turn."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from urllib.parse import quote

import msgspec

from bench.capture import capture
from bench.connection import Connection, Request
from bench.figures import Figure, Goal, Row, Section, median_figure
from bench.inputs import Inputs
from bench.load import CONNECTIONS, generator, rate, write_requests
from bench.log import timed
from bench.processes import ProcessFailed
from bench.service import UNPACED, bring_up_to_date, device_requests, serving, stand_in_register
from bench.settings import Settings

PART = "tools"
PEER = "the same over REST"
GOAL_RATIO = 0.6
READ_DEVICES = 500
SEARCHES = 50


@dataclass(frozen=True, slots=True)
class Asking:
    """How the two ways are asked."""

    inputs: Inputs
    settings: Settings
    port: int

    def row(self, what: str, tool: Sequence[Request], rest: Sequence[Request], goal: float | None = None) -> Row:
        """The tool and the route in turn. Raises `ProcessFailed` where the two do not say the same."""
        self._compare(tool[0], rest[0])
        sent = [
            write_requests(asked, self.inputs.path(f"{way}.bin")) for way, asked in (("tool", tool), ("rest", rest))
        ]

        def both() -> tuple[Figure, Figure]:
            ours, beside = (rate(self.port, each, seconds=self.settings.seconds) for each in sent)
            return ours, beside

        with timed(f"using {what}"):
            rounds = [self.settings.noted(both) for _ in range(self.settings.rounds)]
        ours, beside = median_figure([each for each, _ in rounds]), median_figure([each for _, each in rounds])
        aim = Goal(f"ratio ≥ {goal}", ours.value / beside.value >= goal) if goal else None
        return Row(what, ours, {PEER: beside}, aim)

    def _compare(self, tool: Request, rest: Request) -> None:
        with closing(Connection(self.port)) as connection:
            said, route = capture(connection, [tool, rest])
        result = msgspec.json.decode(said.body)["result"]
        told, shown = msgspec.json.decode(result["content"][0]["text"]), msgspec.json.decode(route.body)
        if result["isError"] or told != shown:
            raise ProcessFailed(f"A tool says something else than {rest.target}:\n{said.body!r}\n{route.body!r}")


def measure(inputs: Inputs, settings: Settings) -> Section:
    """Use `get_device` and `search_devices`, over a copy whose register is the generated stand-in."""
    inputs.copy()
    sample = inputs.sample()
    udis, srns = sample.udis[:READ_DEVICES], sample.srns[:SEARCHES]
    with (
        stand_in_register(inputs) as register,
        serving(inputs, register, REGISTER_REQUESTS_PER_MINUTE=UNPACED) as port,
    ):
        with closing(Connection(port)) as connection:
            bring_up_to_date(connection, udis)
        asking = Asking(inputs, settings, port)
        using = [_used("get_device", udi=udi) for udi in udis]
        searching = [_used("search_devices", q=srn, limit=20) for srn in srns]
        searches = [Request(f"/v1/search?q={quote(srn, safe='')}") for srn in srns]
        rows = [
            asking.row("`tools/call` `get_device`, one core", using, device_requests(udis), GOAL_RATIO),
            asking.row("`tools/call` `search_devices` by SRN, one core", searching, searches),
        ]
    remark = (
        f"Shown are requests/s and p50 / p99 under that load. Load: {generator()}, {CONNECTIONS} kept-alive "
        f"connections, {settings.seconds} s a round, median of {settings.rounds} rounds, the tool and the route in "
        "turn, one process on one core, the load on the other one. Both say the same."
    )
    return Section(PART, "The tool endpoint", rows, [remark, settings.remark()])


def _used(tool: str, **arguments: object) -> Request:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    return Request("/mcp", body=msgspec.json.encode(call))
