"""Tools that read the register's copy, and the register if the copy has nothing."""

from typing import Annotated

import msgspec

from registerwatch.copy.search.filters import Filters
from registerwatch.copy.search.queries import MAX_QUERY_LENGTH
from registerwatch.lookup.devices import MAX_WAIT_SECONDS, NoDevice
from registerwatch.mcp.tools.registry import ToolContext, ToolResult, payload, text_argument, tool
from registerwatch.platform.clock import day_of
from registerwatch.register.identifiers import MAX_LENGTH
from registerwatch.web.answers.register_answers import MissingDevice, SearchAnswer, actor_answer
from registerwatch.web.limits.rate_limits import Limit

MAX_RESULTS, DEFAULT_RESULTS = 25, 10

_DEVICE = (
    " Gives trade name, manufacturer (name, SRN, status), market status and its date, risk class, Basic UDI-DI,"
    " legislation, catalogue reference, version, and `certs`: the certificates with number, revision, status and, where"
    " the register has one, expiry. `found: false` means that there is no such record or that the register could not be"
    " read; `error` says which. `complete: true` means that every part of the record was read; an empty `certs` then"
    " means that the record names no certificate, which never means that the device has none: another record of its"
    " UDI-DI, which search_devices finds by the number of a certificate, can name one. `complete: false` means that"
    " the parts in `missing` (`certificates`, `dates`, `names`: trade names in other languages) were not read yet: say"
    " so, and call again in a moment; an empty `certs` then says nothing. `certs_read_at` says how old `certs` is."
)


class SearchArguments(msgspec.Struct):
    """Arguments of `search_devices`. A limit over the maximum is accepted and means the maximum."""

    q: Annotated[
        str,
        text_argument(
            "A UDI-DI or a scanned code, an SRN, words of a name, or a catalogue reference.", MAX_QUERY_LENGTH
        ),
    ]
    limit: Annotated[
        int, msgspec.Meta(ge=1, extra_json_schema={"maximum": MAX_RESULTS}, description="Most results.")
    ] = DEFAULT_RESULTS


class UdiArguments(msgspec.Struct):
    """Arguments of `get_device` and `lookup_udi`."""

    udi: Annotated[
        str,
        text_argument(
            "The device's UDI-DI: 14 digits such as 04012345678901, or letters and digits such as"
            " E494ZIRKON5F5; or all that a label or a scanner gives, such as (01)04012345678901(17)280131(10)A1. The"
            " code of a package, a unit of use or a direct marking gives the device that has it in `other_codes`.",
            MAX_LENGTH,
        ),
    ]


class SrnArguments(msgspec.Struct):
    """Arguments of `get_actor`."""

    srn: Annotated[
        str,
        text_argument(
            "The actor's single registration number: country, two letters, digits, such as AT-MF-000000252.", MAX_LENGTH
        ),
    ]


@tool(
    "Search devices",
    "Search EUDAMED, the public EU register of medical devices, for devices. Tries an exact UDI-DI, an exact SRN (a"
    " manufacturer's devices), words of the trade, device or manufacturer name (the last word may be a beginning), then"
    " catalogue references. Gives `results` (udi, trade_name, manufacturer_name, manufacturer_srn, status, risk_class),"
    " `total` of all that match, and `match`, which says what the query was taken for. Nothing found: try fewer or"
    " other words. By SRN, `complete: false` means that `total` counts only devices that are known so far, of"
    " `devices_registered` in the register: say so, and use get_actor, which has the rest read. `certificates` is there"
    " where the query is the number of certificates that the register lists, `named_by_devices` where only records of"
    " devices name them; `certificate_list` says when that list was read. `code_of` is there where it is the code of a"
    " package or the like: it says of which device and what it is. Names in other languages are found once a device was"
    " read in full, as get_device does. Use get_device for the certificates of a device.",
    SearchArguments,
    asks_register=False,
)
async def search_devices(arguments: SearchArguments, context: ToolContext) -> ToolResult:
    """Devices by words or identifiers."""
    rows = min(arguments.limit, MAX_RESULTS)
    found = await context.service.search.search(arguments.q, Filters(), name_rows=rows, srn_rows=rows)
    return payload(SearchAnswer.of(found, day_of(context.service.clock.now())), found.error)


@tool(
    "Look up a UDI-DI",
    "Read one device by its UDI-DI; the same as get_device." + _DEVICE,
    UdiArguments,
    asks_register=True,
)
async def lookup_udi(arguments: UdiArguments, context: ToolContext) -> ToolResult:
    """A device. Some models look for a tool of this name."""
    return await _device(arguments, context)


@tool(
    "Read a device",
    "Read one device of the EU register by its UDI-DI." + _DEVICE,
    UdiArguments,
    asks_register=True,
)
async def get_device(arguments: UdiArguments, context: ToolContext) -> ToolResult:
    """A device."""
    return await _device(arguments, context)


@tool(
    "Read an actor",
    "Read one actor of the EU register (manufacturer, authorised representative, importer, producer of procedure packs)"
    " by its SRN. Gives name, country, status, the number of its registered devices (`device_total`) and the first 20"
    " of them, and `certificates`: the manufacturer's certificates that were registered last (`newest`, at most 20),"
    " their `total`, and `state`, which says whether an empty list means that the register lists none (`complete`) or"
    " that it was not read yet or could not be read. `expiry: null` means that a certificate has no end date. A"
    " manufacturer's certificate is no proof for a device that its scope does not name. An empty `name` with `error`"
    " means that there is no such actor or that the register could not be read."
    " `complete: false` means that not all was read yet: `record` in `missing` is its own record, `devices` some of its"
    " devices. Then only `devices_known` of `devices_registered` registrations are known: say so, and call again in a"
    " moment.",
    SrnArguments,
    asks_register=True,
)
async def get_actor(arguments: SrnArguments, context: ToolContext) -> ToolResult:
    """An actor with its first devices."""
    answer = await actor_answer(
        context.service.actors,
        arguments.srn,
        lambda: context.count(Limit.REGISTER_READ),
        client=context.client,
        wait_seconds=MAX_WAIT_SECONDS,
    )
    return payload(answer, answer.error)


async def _device(arguments: UdiArguments, context: ToolContext) -> ToolResult:
    answer = await context.service.devices.read(
        await context.service.codes.subject_to_read(arguments.udi),
        before_read=lambda: context.count(Limit.REGISTER_READ),
        client=context.client,
        wait_seconds=MAX_WAIT_SECONDS,
    )
    if isinstance(answer, NoDevice):
        return payload(MissingDevice.of(answer), answer.reason)
    return ToolResult(answer.body, is_error=answer.problem is not None)
