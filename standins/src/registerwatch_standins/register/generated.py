"""A generated world: millions of plausible registrations, each computed from its number when it is asked for."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import lru_cache

from msgspec import Struct

from registerwatch_standins.register.generation import numbering
from registerwatch_standins.register.generation.certificate_list import (
    MANUFACTURERS_PER_REFUSAL,
    MAX_HOLDERS,
    MAX_REFUSED,
    more_listings,
    refusals,
)
from registerwatch_standins.register.generation.certification import NOTIFIED_BODIES, newest_first
from registerwatch_standins.register.generation.families import Families, Family, article_names
from registerwatch_standins.register.generation.keys import Keys
from registerwatch_standins.register.generation.layout import Layout
from registerwatch_standins.register.generation.operators import Manufacturer, Operators
from registerwatch_standins.register.listings import listing
from registerwatch_standins.register.records import (
    DIRECTIVES,
    Actor,
    Certificate,
    CertificateListing,
    LinkedDevice,
    RefusedApplication,
    Registration,
)
from registerwatch_standins.register.world import World, brussels_now

_FIRST_DAY = date(2021, 10, 4)
_DAYS = 1822
_DAY_TEXTS = tuple(f"{_FIRST_DAY + timedelta(days=day):%Y-%m-%d}" for day in range(_DAYS + 1))
_MILLISECONDS = _DAYS * 86_400_000
_STATUSES = ("on-the-market",) * 250 + ("no-longer-on-the-market",) * 4 + ("not-intended-for-eu-market",) * 2
_LEGACY_TWINS_IN_256 = 154
_VERSIONS = (1,) * 190 + (2,) * 40 + (3,) * 16 + (4,) * 6 + (5, 6, 8, 11)


class _Article(Struct, frozen=True):
    """What decides a registration; `shared` are the draws that it has in common with its twin."""

    position: int
    maker: Manufacturer
    family: Family
    number: int
    draws: bytes
    shared: bytes
    legacy: bool
    latest: bool
    version: int


class GeneratedArchive:
    """The methods of `Archive` over one seed: the same number of devices and the same seed make the same records."""

    def __init__(self, devices: int, seed: int, *, future_codes: bool = False, certificates: int | None = None) -> None:
        self._layout = Layout(devices, seed)
        self._operators = Operators(self._layout, seed)
        self._families = Families(seed, future_codes=future_codes)
        self._keys = Keys("device", seed)
        self._certificate_keys = Keys("certificate", seed)
        self._refusal_keys = Keys("refusal", seed)
        self._certificates = certificates
        self._future_codes = future_codes
        self._family = lru_cache(maxsize=8192)(self._family_of)
        self._made = lru_cache(maxsize=1024)(self._make)
        self._listings: list[CertificateListing] | None = None
        self._refusals: list[RefusedApplication] | None = None
        self._srns: list[str] | None = None

    @property
    def count(self) -> int:
        return self._layout.devices

    def oldest(self, rank: int) -> int:
        return self._layout.position(rank)

    def position_of_uuid(self, uuid: str) -> int | None:
        position = self._keys.number(uuid)
        return position if position is not None and position < self.count else None

    def positions_of_primary_di(self, primary_di: str) -> Sequence[int]:
        for maker in self._makers(primary_di):
            article = numbering.article_of(maker.prefix, primary_di)
            if article is None or article >= maker.devices or self._layout.is_twin(maker.index, article):
                continue
            position = maker.start + article
            twin = article + 1 < maker.devices and self._layout.is_twin(maker.index, article + 1)
            return range(position, position + 2 if twin else position + 1)
        return ()

    def positions_of_basic_udi(self, basic_udi: str) -> Sequence[int]:
        family = numbering.family_of(basic_udi)
        if family is None:
            return ()
        for maker in self._makers(basic_udi):
            first = maker.start + family * maker.family_size
            last = min(first + maker.family_size + 1, maker.start + maker.devices)
            found = [each for each in range(first, last) if self.registration(each).basic_udi == basic_udi]
            if found:
                return found
        return ()

    def positions_of_srn(self, srn: str) -> Sequence[int]:
        index = self._operators.manufacturer_by_code.get(srn)
        if index is not None:
            return self._layout.positions_of(index)
        represented = self._operators.represented_by(srn)
        return [each for index in represented for each in self._layout.positions_of(index)]

    def _makers(self, code: str) -> Iterator[Manufacturer]:
        """The manufacturers to which a UDI-DI or a Basic UDI-DI may belong by its first characters."""
        for prefix in numbering.prefixes_of(code):
            if (index := self._operators.manufacturer_by_code.get(prefix)) is not None:
                yield self._operators.manufacturer(index)

    def srns(self) -> Sequence[str]:
        self._srns = self._srns or self._operators.srns()
        return self._srns

    def actor(self, srn: str) -> Actor | None:
        return self._operators.actor(srn)

    def listings(self) -> Sequence[CertificateListing]:
        """All rows of the certificate search, the latest issued first; by default some more than cover devices."""
        if self._listings is None:
            makers = (self._operators.manufacturer(index) for index in range(self._layout.manufacturers))
            covered = [row for maker in makers if maker.certified for row in self._listed(maker)]
            largest = range(min(MAX_HOLDERS, self._layout.manufacturers))
            holders = [self._operators.manufacturer(index) for index in largest]
            more = len(holders) if self._certificates is None else max(0, self._certificates - len(covered))
            self._listings = newest_first([*covered, *more_listings(covered, holders, more, self._certificate_keys)])
        return self._listings

    def refusals(self) -> Sequence[RefusedApplication]:
        """One of one manufacturer in ten, at most as many as the real register has."""
        if self._refusals is None:
            refused = range(0, self._layout.manufacturers, MANUFACTURERS_PER_REFUSAL)[:MAX_REFUSED]
            self._refusals = refusals([self._operators.manufacturer(index) for index in refused], self._refusal_keys)
        return self._refusals

    def notified_bodies(self) -> Mapping[str, str]:
        return dict(NOTIFIED_BODIES)

    def registration(self, position: int) -> Registration:
        return self._made(position)

    def _make(self, position: int) -> Registration:
        return self._record(self._article(position))

    def _article(self, position: int) -> _Article:
        layout = self._layout
        index = layout.manufacturer_of(position)
        maker = self._operators.manufacturer(index)
        ordinal = position - maker.start
        is_later = layout.is_twin(index, ordinal)
        number = ordinal - 1 if is_later else ordinal
        draws = self._keys.draws(position)
        shared = self._keys.draws(position - 1) if is_later else draws
        family = self._family(index, number // maker.family_size)
        legacy, latest, version = family.basic_udi is None, True, _VERSIONS[shared[2]]
        if is_later or (ordinal + 1 < maker.devices and layout.is_twin(index, ordinal + 1)):
            if not legacy and shared[3] < _LEGACY_TWINS_IN_256:
                legacy = not is_later
            else:
                latest, version = is_later, version + 1 if is_later else version
        return _Article(position, maker, family, number, draws, shared, legacy, latest, version)

    def _record(self, article: _Article) -> Registration:
        maker, family, shared, legacy = article.maker, article.family, article.shared, article.legacy
        reference = _reference(maker, article.number, shared)
        day, registered, version_date = self._dates(article)
        twin = self._legacy_twin(article)
        unknown = self._future_codes and article.draws[5] == 0
        return Registration(
            uuid=self._keys.uuid(article.position, article.draws),
            primary_di=numbering.primary_di(maker.prefix, article.number),
            issuing_agency=maker.prefix.agency,
            basic_udi=None if legacy else family.basic_udi,
            device_name=None if legacy else family.device_name,
            model=reference if legacy else family.model,
            trade_names=article_names(family, article.number, shared),
            reference=reference,
            risk_class=family.risk_class,
            legislation=family.legacy_legislation if legacy else family.legislation,
            status="temporarily-suspended" if unknown else _STATUSES[shared[4]],
            status_date=day if shared[6] > 12 else None,
            emdn=family.emdn,
            manufacturer=maker.party,
            authorised_representative=maker.representative,
            certificates=family.legacy_certificates if legacy else family.certificates,
            version_number=article.version,
            latest_version=article.latest,
            version_date=version_date,
            last_updated=family.updated,
            sterile=family.sterile,
            latex=family.latex,
            implantable=None if legacy else family.implantable,
            reusable=None if legacy else family.reusable,
            single_use=family.single_use,
            max_reuses=family.max_reuses,
            storage=family.storage,
            warnings=family.warnings,
            clinical_sizes=family.clinical_sizes,
            markets=family.markets,
            legacy_twin=twin,
            special_type=None if legacy else family.special_type,
            sscp=None if legacy else family.sscp,
            basic_version=1 if legacy else family.basic_version,
            registered=registered,
        )

    def _legacy_twin(self, article: _Article) -> LinkedDevice | None:
        """The registration under a directive of the same UDI-DI, which is the position before."""
        if article.legacy or not self._layout.is_twin(article.maker.index, article.position - article.maker.start):
            return None
        other = self.registration(article.position - 1)
        return LinkedDevice(other.primary_di, self._dates(article)[0]) if other.legislation in DIRECTIVES else None

    def _dates(self, article: _Article) -> tuple[str, str, str]:
        """Day and moment of registration, moment of the version."""
        version, draws = article.version, article.draws
        moment = self._layout.rank(article.position) * _MILLISECONDS // self._layout.devices
        day, rest = divmod(moment, 86_400_000)
        minutes, seconds = divmod(rest // 1000, 60)
        clock = f"T{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}.{draws[7] * 3 + 7:03d}"
        version_day = day if version == 1 else min(_DAYS, day + version * draws[8] // 4)
        return _DAY_TEXTS[day], _DAY_TEXTS[day] + clock, _DAY_TEXTS[version_day] + clock

    def _family_of(self, manufacturer: int, number: int) -> Family:
        return self._families.family(self._operators.manufacturer(manufacturer), number)

    def _listed(self, maker: Manufacturer) -> list[CertificateListing]:
        """A manufacturer's certificates, each with the Basic UDI-DIs that it covers (first 200 families)."""
        covered: dict[Certificate, list[str]] = {}
        for number in range(min(200, -(-maker.devices // maker.family_size))):
            family = self._family(maker.index, number)
            for certificate in family.certificates:
                covered.setdefault(certificate, []).append(family.basic_udi or "")
        rows = []
        for serial, (certificate, basic_udis) in enumerate(covered.items()):
            number = maker.index << 8 | serial
            uuid = self._certificate_keys.uuid(number, self._certificate_keys.draws(number))
            rows.append(listing(uuid, certificate, maker.party, tuple(basic_udis)))
        return rows


class GeneratedWorld(World):
    """A world over a `GeneratedArchive`; the certificate search lists at least so many `certificates`."""

    def __init__(
        self,
        devices: int,
        seed: int = 1,
        *,
        future_codes: bool = False,
        certificates: int | None = None,
        clock: Callable[[], datetime] = brussels_now,
    ) -> None:
        super().__init__(_archive(devices, seed, future_codes, certificates), clock)


@lru_cache(maxsize=8)
def _archive(devices: int, seed: int, future_codes: bool, certificates: int | None) -> GeneratedArchive:
    """An archive, which nothing changes: worlds of the same numbers share it."""
    return GeneratedArchive(devices, seed, future_codes=future_codes, certificates=certificates)


def _reference(maker: Manufacturer, article: int, shared: bytes) -> str | None:
    """A catalogue number in the manufacturer's style; one device in a hundred has none."""
    if shared[11] < 3:
        return None
    match maker.reference_style:
        case 0:
            return f"{maker.draws[35]:02d}-{1000 + article // 100}-{article % 100:02d}"
        case 1:
            return f"{maker.draws[36] % 100:02d}{article * 7 + 100_000:06d}"
        case 2:
            return f"{maker.party.name[:3].upper()}{article:05d}"
    return f"{maker.party.name[:2].upper()}{maker.draws[37]}.{article % 1000:03d}.{article // 1000:02d}"
