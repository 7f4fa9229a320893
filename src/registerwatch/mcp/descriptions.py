"""How the tools and the server are described to a model."""

from collections.abc import Mapping
from typing import Any

import msgspec

NAME = "registerwatch"
VERSION = "1.0.0"

INSTRUCTIONS = """\
A stored copy of EUDAMED, the public EU register of medical devices, and watches over it.

A UDI-DI names one device: mostly 14 digits (`04012345678901`), sometimes letters and digits (`E494ZIRKON5F5`). An SRN
names one actor, such as a manufacturer: country, two letters, digits (`DE-MF-000006413`).

To find a device by words use search_devices, then get_device for the whole record. `found: false` means that the
register has no such record or could not be read; `error` says which. A record is as the register had it at `read_at`;
it may be wrong or late, and it is no certificate of conformity.

Watches tell what changes from now on. They need an API key on the HTTP request; never ask a person to type a key into
the conversation.
"""


class ToolAnnotations(msgspec.Struct, rename="camel", frozen=True):
    """What a client may tell its user before a tool is used."""

    title: str
    read_only_hint: bool
    destructive_hint: bool
    idempotent_hint: bool
    open_world_hint: bool


class ToolDescription(msgspec.Struct, rename="camel", frozen=True):
    """One tool as `tools/list` shows it."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    annotations: ToolAnnotations


def _reader(title: str, *, asks_register: bool) -> ToolAnnotations:
    return ToolAnnotations(title, True, False, True, asks_register)


def _writing(title: str) -> ToolAnnotations:
    return ToolAnnotations(title, False, False, True, True)


def _arguments(*required: str, **properties: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


_UDI = {
    "type": "string",
    "minLength": 1,
    "maxLength": 120,
    "description": "The device's UDI-DI: 14 digits such as 04012345678901, or letters and digits such as E494ZIRKON5F5."
    " Without a serial or lot number. Spaces are left out.",
}
_SRN = {
    "type": "string",
    "minLength": 1,
    "maxLength": 120,
    "description": "The actor's single registration number: country, two letters, digits, such as AT-MF-000000252.",
}
_DEVICE = (
    " Gives trade name, manufacturer (name, SRN, status), market status and its date, risk class, Basic UDI-DI,"
    " legislation, catalogue reference, version, and `certs`: the certificates with number, revision, status and, where"
    " the register has one, expiry. `found: false` means that there is no such record or that the register could not be"
    " read; `error` says which. An empty `certs` means that the register lists none."
)
_WITH_KEY = " Needs an API key on the HTTP request."

DESCRIPTIONS = (
    ToolDescription(
        "search_devices",
        "Search EUDAMED, the public EU register of medical devices, for devices. Tries an exact UDI-DI, an exact SRN (a"
        " manufacturer's devices), words of the trade, device or manufacturer name (the last word may be a beginning),"
        " then catalogue references. Gives `results` (udi, trade_name, manufacturer_name, manufacturer_srn, status,"
        " risk_class), `total` of all that match, and `match`, which says what the query was taken for. Nothing found:"
        " try fewer or other words. Use get_device for certificates.",
        _arguments(
            "q",
            q={
                "type": "string",
                "minLength": 1,
                "maxLength": 200,
                "description": "A UDI-DI, an SRN, words of a name, or a catalogue reference.",
            },
            limit={
                "type": "integer",
                "minimum": 1,
                "maximum": 25,
                "default": 10,
                "description": "Most results.",
            },
        ),
        _reader("Search devices", asks_register=False),
    ),
    ToolDescription(
        "lookup_udi",
        "Read one device by its UDI-DI; the same as get_device." + _DEVICE,
        _arguments("udi", udi=_UDI),
        _reader("Look up a UDI-DI", asks_register=True),
    ),
    ToolDescription(
        "get_device",
        "Read one device of the EU register by its UDI-DI." + _DEVICE,
        _arguments("udi", udi=_UDI),
        _reader("Read a device", asks_register=True),
    ),
    ToolDescription(
        "get_actor",
        "Read one actor of the EU register (manufacturer, authorised representative, importer, producer of procedure"
        " packs) by its SRN. Gives name, country, status, the number of its registered devices (`device_total`) and the"
        " first 20 of them. An empty `name` with `error` means that there is no such actor or that the register could"
        " not be read.",
        _arguments("srn", srn=_SRN),
        _reader("Read an actor", asks_register=True),
    ),
    ToolDescription(
        "list_watches",
        "List what the account watches: each subject with its name, status, first certificate and its expiry, when it"
        " was last read and why the last read failed, if it did." + _WITH_KEY,
        _arguments(),
        _reader("List watches", asks_register=False),
    ),
    ToolDescription(
        "add_watch",
        "Watch a device (by UDI-DI) or an actor (by SRN): the register is read at once, and what changes from then on"
        " is told by sync_watches, list_changes and the account's webhooks. A subject that is watched already stays as"
        " it is. Fails when the plan's number of watches is reached." + _WITH_KEY,
        _arguments(
            "subject",
            subject={
                "type": "string",
                "minLength": 1,
                "maxLength": 120,
                "description": "A UDI-DI such as 04012345678901, or an SRN such as DE-MF-000006413.",
            },
        ),
        _writing("Watch a device or an actor"),
    ),
    ToolDescription(
        "sync_watches",
        "Read every watched device and actor from the register now, which can take up to a minute, and tell what"
        " changed. Empty `events` mean that nothing did. The background does the same by itself, so call this only when"
        " the answer must be of this moment." + _WITH_KEY,
        _arguments(),
        _writing("Read all watches now"),
    ),
    ToolDescription(
        "list_changes",
        "List the newest 50 changes of watched devices and actors, newest first: subject, time, a summary and each"
        " field with its old and new value. Does not ask the register." + _WITH_KEY,
        _arguments(),
        _reader("List changes", asks_register=False),
    ),
)
