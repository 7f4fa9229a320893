"""`/reference` of the Data Lake: what its numeric ids stand for.

The key is column with id: -204 is a risk class and a country. Some ids that devices have are not listed.
"""

from collections.abc import Mapping
from functools import cache

from registerwatch_standins.register.countries import COUNTRIES, LANGUAGE_NAMES, MARKET_COUNTRIES, country_name

RISK_CLASS_IDS = {
    "class-i": -203,
    "class-iia": -204,
    "class-iib": -205,
    "class-iii": -10,
    "class-a": -199,
    "class-b": -200,
    "class-c": -201,
    "class-d": -202,
    "aimdd": -154,
    "ivd-annex-ii-list-a": -155,
    "ivd-annex-ii-list-b": -156,
    "ivd-general": -157,
    "ivd-devices-self-testing": -219,
}
LEGISLATION_IDS = {"mdr": -197, "ivdr": -198, "mdd": -53, "aimdd": -54, "ivdd": -55}
STATUS_IDS = {"on-the-market": -11, "no-longer-on-the-market": -12, "not-intended-for-eu-market": -790}
SPECIAL_TYPE_IDS = {
    "software": -43,
    "ivdr-software": -47,
    "standard-soft-contact-lenses": -44,
    "rigid-gas-permeable-contact-lenses": -46,
    "made-to-order-soft-contact-lenses": -1188,
    "spectacle-frames": -1189,
    "spectacle-lenses": -1190,
    "ready-to-wear-reading-spectacles": -1191,
    "mdd-software": -1192,
    "ivdd-software": -1202,
    "made-to-order-rigid-contact-lenses": -3030,
}
"""By the end of the code that a Basic UDI-DI record would have, which nobody has told."""
COUNTRY_IDS: Mapping[str, int] = {
    iso2: -204 - place for place, iso2 in enumerate(sorted({*COUNTRIES, *MARKET_COUNTRIES}))
}
UNKNOWN_ID = -9999
"""What a code of the future is numbered here."""

_VALUES: Mapping[str, Mapping[int, str]] = {
    "RISK_CLASS_ID": {
        -203: "Class I",
        -204: "Class IIa",
        -205: "Class IIb",
        -10: "Class III",
        -199: "Class A",
        -200: "Class B",
        -201: "Class C",
        -202: "Class D",
        -154: "AIMDD",
        -155: "IVD Annex II List A",
        -156: "IVD Annex II List B",
        -157: "IVD General",
        -219: "IVD devices for self-testing",
    },
    "APPLICABLE_LEGISLATION_ID": {
        -197: "MDR (Regulation (EU) 2017/745 on medical devices)",
        -198: "IVDR (Regulation (EU) 2017/746 on in vitro diagnostic medical devices)",
        -53: "MDD (Directive 93/42/EEC on Medical Devices)",
        -54: "AIMDD (Directive 90/385/EEC on Active Implantable Medical Devices)",
        -55: "IVDD (Directive 98/79/EC on In Vitro Diagnostic Medical Devices)",
        -3020: "None",
        -3021: "Unknown",
    },
    "DEVICE_STATUS_TYPE_ID": {
        -11: "On the EU market",
        -12: "No longer placed on the EU market",
        -790: "Not intended for the EU market",
    },
    "SPECIAL_DEVICE_TYPE_ID": {
        -43: "Software",
        -47: "Software",
        -44: "Standard soft contact lenses",
        -46: "Rigid gas permeable contact lenses",
        -1188: "Made-to-order soft contact lenses",
        -3030: "Made-to-order rigid contact lenses",
        -1189: "Spectacle frames",
        -1190: "Spectacle lenses",
        -1191: "Ready-to-wear reading spectacles",
    },
    "PLACED_ON_THE_MARKET_ID": {number: country_name(iso2) for iso2, number in COUNTRY_IDS.items()},
}


@cache
def reference_rows() -> tuple[dict[str, object], ...]:
    """All rows, in every language; where no translation is made up the English value says which language it is for."""
    return tuple(
        {
            "ID": float(number),
            "CODE": column,
            "LANGUAGE": language,
            "VALUE": value if language == "en" else f"{value} ({language})",
        }
        for language in sorted(LANGUAGE_NAMES)
        for column, values in _VALUES.items()
        for number, value in values.items()
    )
