"""Device families of a generated world: the devices under one Basic UDI-DI, or a series of legacy devices."""

from msgspec import Struct

from registerwatch_standins.register.countries import MARKET_COUNTRIES
from registerwatch_standins.register.generation import numbering
from registerwatch_standins.register.generation.certification import directive_certificate, regulation_certificate
from registerwatch_standins.register.generation.keys import Keys
from registerwatch_standins.register.generation.operators import Manufacturer, brand
from registerwatch_standins.register.generation.vocabulary import LANGUAGES, MEASURES, Kind, vocabulary
from registerwatch_standins.register.records import Certificate, ClinicalSize, Condition, Sscp

_LEGACY_IN_256 = 41
_REGULATION_RISKS = ("class-i",) * 81 + ("class-iia",) * 10 + ("class-iib",) * 8 + ("class-iii",)
_LEGACY_RISKS = ("class-iib",) * 61 + ("class-iia",) * 20 + ("class-i",) * 18 + ("class-iii",)
_LAB_RISKS = ("class-a",) * 65 + ("class-b",) * 25 + ("class-c",) * 8 + ("class-d",) * 2
_IVDD_RISKS = ("ivd-general",) * 12 + ("ivd-annex-ii-list-b", "ivd-annex-ii-list-a", "ivd-devices-self-testing")
_STYLES = ("{0} {1}, {2}", "{0}, {2}, {1}", "{0} {1} {2}", "{0} {1}")
_UNCERTIFIED = frozenset({"class-i", "class-a", "ivd-general"})


class Naming(Struct, frozen=True):
    """How a family's articles are named in one language: a head, then measure and descriptor in the style's order."""

    language: str
    head: str
    measures: tuple[str, ...]
    descriptors: tuple[str, ...]


class Family(Struct, frozen=True):
    """What the devices of one family have in common; `basic_udi` is null for a series of legacy devices."""

    basic_udi: str | None
    legislation: str
    risk_class: str
    device_name: str | None
    model: str | None
    emdn: tuple[str, ...]
    namings: tuple[Naming, ...]
    style: int
    certificates: tuple[Certificate, ...]
    legacy_legislation: str
    legacy_certificates: tuple[Certificate, ...]
    sterile: bool | None
    latex: bool | None
    implantable: bool | None
    reusable: bool | None
    single_use: bool
    max_reuses: int | None
    storage: tuple[Condition, ...]
    warnings: tuple[Condition, ...]
    clinical_sizes: tuple[ClinicalSize, ...]
    markets: tuple[str, ...] | None
    special_type: str | None
    sscp: Sscp | None
    basic_version: int
    updated: str


class Families:
    """The families of a world, computed from the manufacturer and the family's number in it."""

    def __init__(self, seed: int, *, future_codes: bool = False) -> None:
        self._keys = Keys("family", seed)
        self._future_codes = future_codes
        self._words = vocabulary()

    def family(self, maker: Manufacturer, number: int) -> Family:
        """The `number`-th family of a manufacturer."""
        draws = self._keys.draws(maker.index << 24 | number)
        legacy = draws[0] < _LEGACY_IN_256
        lab = maker.group == "lab"
        risk = _risk(draws, legacy=legacy, lab=lab)
        kinds = self._words.kinds.get((maker.group, risk)) or self._words.kinds[(maker.group, "")]
        kind = kinds[draws[14] % len(kinds)]
        if not lab and kind.risk != risk:
            risk = kind.risk
        if self._future_codes and draws[1] < 2:
            risk = "class-is"
        legacy_legislation = "ivdd" if lab else "aimdd" if draws[2] < 2 else "mdd"
        regulation = "ivdr" if lab else "mdr"
        name = brand(draws, 4)
        basic = numbering.basic_udi(maker.prefix.basic, number, kind.nouns["en"][:3].upper())
        return Family(
            basic_udi=None if legacy else basic,
            legislation=legacy_legislation if legacy else regulation,
            risk_class=risk,
            device_name=None if legacy else f"{name} {kind.nouns['en']}",
            model=f"{name} {number + 1}" if draws[9] < 110 and not legacy else None,
            emdn=_emdn(kind, draws),
            namings=self._namings(kind, name, maker.language, draws),
            style=draws[10] % 4,
            certificates=() if legacy else _regulation(maker, number, regulation, risk, draws),
            legacy_legislation=legacy_legislation,
            legacy_certificates=_directive(maker, legacy_legislation, risk, draws),
            sterile=_flag(draws[20], 90),
            latex=_flag(draws[21], 3),
            implantable=None if lab else _flag(draws[22], 230 if risk == "class-iii" else 6),
            reusable=None if lab else _flag(draws[23], 60 if risk == "class-i" else 4),
            single_use=draws[23] >= 60,
            max_reuses=100 if draws[23] < 20 else None,
            storage=_storage(draws[27]),
            warnings=(Condition("CW018"),) if draws[28] < 50 else (),
            clinical_sizes=(ClinicalSize("CST19", value=5.5, unit="MU50"),) if draws[29] < 40 else (),
            markets=_markets(maker, draws[30]),
            special_type="software" if draws[31] < 4 else None,
            sscp=Sscp(f"SSCP-{number + 1:04d}", "01", "2025-12-01")
            if risk == "class-iii" and draws[32] < 128
            else None,
            basic_version=1 + (draws[33] > 190) + (draws[33] > 240),
            updated=_moment(draws),
        )

    def _namings(self, kind: Kind, name: str, language: str, draws: bytes) -> tuple[Naming, ...]:
        registered = "®" if draws[16] < 24 else ""
        namings = []
        for each in dict.fromkeys(_languages(language, draws[17])):
            noun = kind.nouns[each]
            head = f"{noun} {name}{registered}" if draws[10] % 4 in (1, 2) else f"{name}{registered} {noun}"
            namings.append(Naming(each, head, MEASURES[kind.measure, each], self._words.descriptors[each]))
        return tuple(namings)


def article_names(family: Family, article: int, draws: bytes) -> dict[str, str] | None:
    """The trade names of a family's article, by language."""
    if not family.namings:
        return None
    style = _STYLES[family.style]
    return {
        each.language: style.format(each.head, each.measures[article % len(each.measures)], each.descriptors[draws[0]])
        for each in family.namings
    }


def _risk(draws: bytes, *, legacy: bool, lab: bool) -> str:
    table = (_IVDD_RISKS if legacy else _LAB_RISKS) if lab else (_LEGACY_RISKS if legacy else _REGULATION_RISKS)
    return table[int.from_bytes(draws[12:14]) % len(table)]


def _storage(draw: int) -> tuple[Condition, ...]:
    """Of one family in four, some with words of its own."""
    conditions = (Condition("SHC005"), Condition("SHC099", "Store in the original packaging"))
    return conditions[: 2 if draw < 20 else 1] if draw < 64 else ()


def _markets(maker: Manufacturer, draw: int) -> tuple[str, ...] | None:
    """Mostly everywhere, else in some countries; of one family in 25 nothing is told."""
    if draw < 190:
        return tuple(MARKET_COUNTRIES)
    if draw < 200:
        return None
    return tuple(dict.fromkeys(("DE", "FR", maker.country.iso2 if maker.country.iso2 in MARKET_COUNTRIES else "AT")))


def _moment(draws: bytes) -> str:
    """When the Basic UDI-DI record was last changed, with a fraction of none to three digits."""
    year, month, day = 2022 + draws[34] % 4, 1 + draws[35] % 12, 1 + draws[36] % 28
    return f"{year}-{month:02d}-{day:02d}T09:{draws[37] % 60:02d}:{draws[38] % 60:02d}.{draws[39] * 25 % 1000:03d}"


def _flag(draw: int, yes_in_256: int) -> bool | None:
    """True for so many in 256; of eight in 256 nobody says."""
    return None if draw >= 248 else draw < yes_in_256


def _emdn(kind: Kind, draws: bytes) -> tuple[str, ...]:
    return (kind.emdn,) if draws[15] else (kind.emdn, f"{kind.emdn}99")


def _languages(language: str, draw: int) -> tuple[str, ...]:
    """None for one family in eight, else mostly English alone, the manufacturer's language, both, or all
    eight.
    """
    if draw < 32:
        return ()
    if draw < 150 or (language == "en" and draw < 240):
        return ("en",)
    if draw < 215:
        return (language,)
    return ("en", language) if draw < 246 else LANGUAGES


def _regulation(maker: Manufacturer, number: int, regulation: str, risk: str, draws: bytes) -> tuple[Certificate, ...]:
    """The manufacturer's quality system certificate, and for one high-risk family in three one of its own."""
    if not maker.certified or risk in _UNCERTIFIED:
        return ()
    system = regulation_certificate(maker, regulation, "QUALITY_MANAGEMENT_SYSTEM", 0)
    if risk not in ("class-iib", "class-iii", "class-c", "class-d") or draws[18] > 85:
        return (system,)
    return system, regulation_certificate(maker, regulation, "TECHNICAL_DOCUMENTATION", number + 1)


def _directive(maker: Manufacturer, legislation: str, risk: str, draws: bytes) -> tuple[Certificate, ...]:
    if risk in _UNCERTIFIED or draws[19] < 20:
        return ()
    first = directive_certificate(maker, legislation, 0)
    return (first, directive_certificate(maker, legislation, 1)) if risk == "class-iii" else (first,)
