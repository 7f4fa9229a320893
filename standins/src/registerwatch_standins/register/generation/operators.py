"""The manufacturers and authorised representatives of a generated world."""

from functools import cached_property, lru_cache

from msgspec import Struct

from registerwatch_standins.register.countries import (
    COUNTRIES,
    REPRESENTATIVE_COUNTRIES,
    TRADE_LANGUAGES,
    Country,
    country_type,
)
from registerwatch_standins.register.generation import numbering
from registerwatch_standins.register.generation.keys import Keys, Scatter
from registerwatch_standins.register.generation.layout import Layout
from registerwatch_standins.register.generation.vocabulary import LANGUAGES
from registerwatch_standins.register.records import Actor, Party

_REPRESENTATIVES = 1 << 31
_MANUFACTURERS_PER_REPRESENTATIVE = 40
_GROUPS = ("bone",) * 22 + ("dental",) * 14 + ("surgery",) * 21 + ("wound",) * 11 + ("aids",) * 14 + ("flow",) * 15
_ALL_GROUPS = (*_GROUPS, "lab", "lab", "lab")
_FAMILY_SIZES = (6, 10, 13, 13, 16, 24, 40)
_BY_SHARE = tuple(iso2 for iso2, place in COUNTRIES.items() for _ in range(place.share))
_NAME_PARTS = """
b br c cl d dr f fl g gl k kr l m n p pr qu r s sp st t tr v x z
flex med fix tec lux dent ortho care vita plus line nova
Medical Medizintechnik Orthopaedics Instruments Dental Biotech Surgical Healthcare Devices
"""
_ONSETS, _ENDINGS, _TRADES = (line.split() for line in _NAME_PARTS.strip().splitlines())
_ENDINGS += [""] * 4
_VOWELS = ("a", "e", "i", "o", "u", "ae", "eo", "ia", "io")
_CODAS = ("", "", "l", "m", "n", "r", "s", "x", "nt", "st", "rd")
_STREETS = [
    "Werkstraße",
    "Rue des Ateliers",
    "Via della Fabbrica",
    "Mill Lane",
    "Park Road",
    "Calle Mayor",
    "Industrieweg",
]


class Manufacturer(Struct, frozen=True):
    """What the devices of one manufacturer have in common; `start` is its first position in the world."""

    index: int
    start: int
    devices: int
    party: Party
    representative: Party | None
    country: Country
    language: str
    prefix: numbering.Prefix
    group: str
    family_size: int
    reference_style: int
    certified: bool
    draws: bytes


class Operators:
    """All actors of the world of one seed. The SRN of an actor leads back to its number."""

    def __init__(self, layout: Layout, seed: int) -> None:
        self._layout = layout
        self._keys = Keys("actor", seed)
        self.manufacturers = layout.manufacturers
        self.representatives = max(2, layout.manufacturers // _MANUFACTURERS_PER_REPRESENTATIVE)
        self._numbers = {
            "MF": Scatter(_prime_above(self.manufacturers * 4 // 3 + 16), 7_368_787, seed),
            "AR": Scatter(_prime_above(self.representatives * 4 // 3 + 16), 7_368_787, seed),
        }
        self.manufacturer = lru_cache(maxsize=16_384)(self._manufacturer)
        self._representative = lru_cache(maxsize=8192)(self._representative_of)

    @cached_property
    def manufacturer_by_code(self) -> dict[str, int]:
        """The index of a manufacturer by its SRN, by what its UDI-DIs and by what its Basic UDI-DIs begin with."""
        codes: dict[str, int] = {}
        for index in range(self.manufacturers):
            draws, country = self._origin(index)
            prefix = _prefix(index, draws, country, len(self._layout.positions_of(index)))
            codes.update(dict.fromkeys((self._srn(index, draws, country), prefix.text, prefix.basic), index))
        return codes

    @cached_property
    def _representative_by_srn(self) -> dict[str, int]:
        return {self._representative(index).srn: index for index in range(self.representatives)}

    def represented_by(self, srn: str) -> list[int]:
        """The indexes of the manufacturers whose authorised representative has this SRN."""
        index = self._representative_by_srn.get(srn)
        candidates = range(self.manufacturers)[index :: self.representatives] if index is not None else ()
        return [each for each in candidates if self.manufacturer(each).representative is not None]

    def srns(self) -> list[str]:
        """The SRNs of all actors, ascending."""
        manufacturers = (self._srn(each, *self._origin(each)) for each in range(self.manufacturers))
        return sorted([*manufacturers, *self._representative_by_srn])

    def actor(self, srn: str) -> Actor | None:
        """The actor with this SRN."""
        if (index := self.manufacturer_by_code.get(srn)) is not None:
            maker = self.manufacturer(index)
            return self._actor(index, maker.party, srn[3:5], maker.country)
        if (index := self._representative_by_srn.get(srn)) is None:
            return None
        country = COUNTRIES[REPRESENTATIVE_COUNTRIES[index % len(REPRESENTATIVE_COUNTRIES)]]
        return self._actor(_REPRESENTATIVES + index, self._representative(index), "AR", country)

    def _manufacturer(self, index: int) -> Manufacturer:
        draws, country = self._origin(index)
        positions = self._layout.positions_of(index)
        name = f"{brand(draws, 4)} {_TRADES[draws[9] % len(_TRADES)]} {country.legal_form}"
        foreign = country_type(country.iso2) == "NON_EU_MEMBER_STATE"
        return Manufacturer(
            index=index,
            start=positions.start,
            devices=len(positions),
            party=Party(self._srn(index, draws, country), name, "inactive" if draws[10] < 3 else "active"),
            representative=self._representative(index % self.representatives) if foreign else None,
            country=country,
            language=_trade_language(draws, country),
            prefix=_prefix(index, draws, country, len(positions)),
            group=_ALL_GROUPS[draws[12] % len(_ALL_GROUPS)],
            family_size=_FAMILY_SIZES[draws[13] % len(_FAMILY_SIZES)],
            reference_style=draws[14] % 4,
            certified=draws[15] < 60 or index < 6,
            draws=draws,
        )

    def _origin(self, index: int) -> tuple[bytes, Country]:
        draws = self._keys.draws(index)
        return draws, COUNTRIES[_BY_SHARE[int.from_bytes(draws[:2]) % len(_BY_SHARE)]]

    def _srn(self, index: int, draws: bytes, country: Country) -> str:
        role = "PR" if draws[2] < 3 else "MF"
        prefix = country.iso2
        if draws[3] < 40:
            prefix = {"GB": "UK", "GR": "EL"}.get(prefix, prefix)
        return f"{prefix}-{role}-{self._numbers['MF'].there(index) + 1:09d}"

    def _representative_of(self, index: int) -> Party:
        draws = self._keys.draws(_REPRESENTATIVES + index)
        country = COUNTRIES[REPRESENTATIVE_COUNTRIES[index % len(REPRESENTATIVE_COUNTRIES)]]
        srn = f"{country.iso2}-AR-{self._numbers['AR'].there(index) + 1:09d}"
        return Party(srn, f"{brand(draws, 4)} EC REP {country.legal_form}")

    def _actor(self, number: int, party: Party, role: str, country: Country) -> Actor:
        draws = self._keys.draws(number)
        day, minute = 1 + draws[20] % 28, draws[21] % 60
        return Actor(
            uuid=self._keys.uuid(number, draws),
            srn=party.srn,
            type=role,
            name=party.name,
            language=country.language,
            country=country.iso2,
            status=party.status,
            registered=f"202{draws[18] % 6}-{1 + draws[19] % 12:02d}-{day:02d}T10:{minute:02d}:03.233",
            last_updated=f"2026-0{1 + draws[22] % 9}-{day:02d}T15:{minute:02d}:27.649",
            version_number=1 + draws[23] % 4,
            street=_STREETS[draws[24] % len(_STREETS)],
            building=str(1 + draws[25]),
            postal_zone=f"{10_000 + int.from_bytes(draws[26:28]):05d}",
            city=country.cities[draws[20] % len(country.cities)],
            website=f"https://www.{brand(draws, 4).lower()}.example" if draws[17] < 200 else None,
        )


def brand(draws: bytes, at: int) -> str:
    """A made-up name of two or three syllables from the draws at this place (5 bytes)."""
    first, second, third, fourth, fifth = draws[at : at + 5]
    syllables = (
        _ONSETS[first % len(_ONSETS)],
        _VOWELS[second % len(_VOWELS)],
        _CODAS[third % len(_CODAS)],
        _ONSETS[(first + fourth) % len(_ONSETS)],
        _VOWELS[fourth % len(_VOWELS)],
        _ENDINGS[fifth % len(_ENDINGS)],
    )
    return "".join(syllables).capitalize()


def _trade_language(draws: bytes, country: Country) -> str:
    language = TRADE_LANGUAGES[country.iso2]
    if language == "en" and draws[16] < 64:
        return LANGUAGES[draws[16] % len(LANGUAGES)]
    return language


def _prefix(index: int, draws: bytes, country: Country, devices: int) -> numbering.Prefix:
    """One manufacturer in twenty numbers by HIBCC, and one in a hundred of the smaller ones by ICCBBA."""
    if draws[11] < 13:
        return numbering.hibcc_prefix(index)
    if draws[11] > 252 and devices < 1000:
        return numbering.iccbba_prefix(index)
    return numbering.gs1_prefix(country.gs1, index, devices)


def _prime_above(number: int) -> int:
    while any(number % divisor == 0 for divisor in range(2, int(number**0.5) + 1)):
        number += 1
    return number
