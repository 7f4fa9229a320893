"""What the interface says of itself: its build, and what is switched on for the public.

The form of the flags is the one that a program reads: a bare list of `name`, `enable`, a value and a description.
"""

from collections.abc import Mapping

from registerwatch_standins.register.wire.codes import Fields

BUILD = "2.27.3"
_ON = """
ffDevice ffNomenclature ffNews ffCertificate ffNotifiedBodies ffSscpi ffRelatedDevice ffAccessibilityStatement
ffPublicDataApiFunction
"""
_OFF = "ffSponsor ffDeviceSubStatus ffVigFsn"
FLAGS: Mapping[str, bool] = dict.fromkeys(_ON.split(), True) | dict.fromkeys(_OFF.split(), False)
"""The flags as they were in August 2026."""


def application_info(build: str) -> Fields:
    """The build that answers."""
    return {"buildVersion": build, "lastBuildDate": "2026-06-09 15:00", "activeProfile": "[prod]"}


def configuration_parameters(flags: Mapping[str, bool]) -> list[Fields]:
    """The flags that are public."""
    return [
        {"name": name, "enable": is_on, "value": None, "description": f"Public site: {name.removeprefix('ff')}"}
        for name, is_on in flags.items()
    ]
