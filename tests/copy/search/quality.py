"""What searches of every kind found before searching was made faster: 500 of them, over devices of the stand-in.

`quality.tsv` has a line for each query: how it was found, the total, and the places of the first eight devices in the
order of UDI-DIs of all devices. `python -m tests.copy.search.quality` writes it with what is found now.
"""

import asyncio
import csv
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from registerwatch.copy.actor_lists import ListFacts
from registerwatch.copy.certificates.certificate_queries import CertificatesWithNumber
from registerwatch.copy.documents.documents import CodedDevice, StoredDocument, UnindexedRow
from registerwatch.copy.search.fields import udi_order
from registerwatch.copy.search.index import SearchIndex
from registerwatch.copy.search.queries import SearchPage, SearchService
from registerwatch.register.codes import RiskFilter, StatusFilter
from registerwatch.register.models import Device, document
from registerwatch.web.filters import search_filters
from registerwatch_standins.register.generated import GeneratedWorld
from tests.copy.search.index_folder import COPY, indexed
from tests.copy.search.test_index import register_of
from tests.register.builders import a_device

EXPECTED = Path(__file__).with_name("quality.tsv")
FIRST = 8
QUERIES = 500

FOREIGN = [
    ("Ceramïll Zölid™ HT+", "Zahnärztliche Prothesen Größe 5"),
    ("Σύστημα ορθοπεδικής", "Αθήνα Ιατρικά"),
    ("Электрокардиограф", "Медицинская техника"),
    ("人工股関節", "東京医療"),
    ("İğne Şırınga", "Tıbbi Ürünler A.Ş."),
    ("ﬁne ＳＣＲＥＷ", "Łódź Medyczna"),
    ("Prothèse de résection", "Société Générale d’Implants"),
]
ODD = [
    "Ceramïll",
    "ceramill zolid",
    "ZÖLID",
    "Ορθοπεδικής",
    "συστημα",
    "электро",
    "人工股関節",
    "東京",
    "İğne",
    "igne",
    "ＳＣＲＥＷ",
    "screw™",
    "fine",
    "ﬁne",
    "łódź",
    "lodz",
    "prothese",
    "résection",
    "société generale",
    "größe 5",
    "grösse",
]
NOTHING = [
    "qqqzz",
    "nothing like it",
    "zzzz9 qqqq8",
    "99qq",
    "%%%",
    "---",
    "???",
    ".",
    "plate qqqzz",
    "04099999999992",
    "(01)04099999999992(17)280131",
    "E494ZIRKON5F5",
    "+E999ABSENT1",
    "DE-MF-999999999",
    "BEPR000000011",
]
FEW_LETTERS = ["a", "s", "st", "im", "cm", "mm", "ste", "pla", "10", "1", "5", "x", "r1", "co", "gm"]


class Asked(NamedTuple):
    """A search: words, filters by their names, page."""

    query: str
    filters: Mapping[str, str]
    page: int = 1


def devices() -> list[Device]:
    """Three thousand devices, a few of them with names in other scripts."""
    made = [
        a_device(
            f"f-{number}",
            f"FOREIGN{number}",
            trade_name=trade,
            manufacturer_name=maker,
            status_code=StatusFilter.ON.code,
        )
        for number, (trade, maker) in enumerate(FOREIGN)
    ]
    return [*register_of(GeneratedWorld(3000, seed=11)), *made]


def questions(stored: Sequence[Device]) -> list[Asked]:
    """Searches of every kind, the same ones for the same devices."""
    chance = random.Random(20)
    count = Counter(word for device in stored for word in dict.fromkeys(_words(device)))
    common, some = (
        [word for word, _ in count.most_common(60)],
        sorted(word for word, n in count.items() if 3 <= n <= 60),
    )
    asked = [*_by_words(chance, stored, common, some), *_by_codes(chance, stored), *_filtered(chance, common, some)]
    asked += [Asked(each, {}) for each in (*ODD, *NOTHING, *FEW_LETTERS)]
    asked += [Asked(word, {}, page) for word in common[:10] for page in (2, 7)]
    return asked[:QUERIES]


def _words(device: Device) -> list[str]:
    names = [device.trade_name, *device.trade_names.values(), device.device_name, device.manufacturer_name]
    return [word for word in re.split(r"[\W_]+", " ".join(names).lower()) if word]


def _by_words(
    chance: random.Random, stored: Sequence[Device], common: Sequence[str], some: Sequence[str]
) -> Iterator[Asked]:
    yield from (Asked(word, {}) for word in common[:45])
    yield from (Asked(word, {}) for word in chance.sample(some, 40))
    for word in chance.sample([*common, *some], 60):
        yield Asked(word[: chance.randint(1, len(word))], {})
    for device in chance.sample(stored, 70):
        words = _words(device)
        start = chance.randrange(max(1, len(words) - 2))
        chosen = words[start : start + chance.choice([2, 2, 3])]
        yield Asked(" ".join([*chosen[:-1], chosen[-1][: chance.randint(1, len(chosen[-1]))]]), {})
    for word in chance.sample([word for word in [*common, *some] if len(word) > 4], 40):
        at = chance.randrange(len(word))
        yield Asked(
            chance.choice([word[:at] + word[at + 1 :], word[:at] + "x" + word[at:], word[:at] + "q" + word[at + 1 :]]),
            {},
        )
    yield from (Asked(device.manufacturer_name, {}) for device in chance.sample(stored, 20))


def _by_codes(chance: random.Random, stored: Sequence[Device]) -> Iterator[Asked]:
    for device in chance.sample([each for each in stored if each.reference and each.basic_udi], 25):
        yield Asked(device.reference, {})
        yield Asked(chance.choice([device.udi, device.udi.lower(), f"(01){device.udi}"]), {})
        yield Asked(device.basic_udi, {})
    for device in chance.sample([each for each in stored if each.manufacturer_srn], 15):
        yield Asked(
            chance.choice([device.manufacturer_srn, device.manufacturer_srn.lower()]), {}, chance.choice([1, 1, 2])
        )


def _filtered(chance: random.Random, common: Sequence[str], some: Sequence[str]) -> Iterator[Asked]:
    statuses, risks = [each.value for each in StatusFilter], [each.value for each in RiskFilter]
    yield from (Asked("", {"status": status}) for status in statuses)
    yield from (Asked("", {"risk": risk}) for risk in risks)
    yield from (Asked("", {"status": "on", "risk": risk}, page) for risk in risks[:4] for page in (1, 3))
    yield from (Asked("", {"country": each}) for each in ("DE", "US", "FR", "unknown"))
    for word in chance.sample([*common[:30], *some], 45):
        cut = word if chance.random() < 0.6 else word[:3]
        status, risk = {"status": chance.choice(statuses)}, {"risk": chance.choice(risks)}
        yield Asked(
            cut, chance.choice([status, risk, {**status, **risk}, {"country": "DE"}, {**status, "country": "CN"}])
        )


class Copy:
    """The devices as a copy that is asked by quick reads."""

    def __init__(self, stored: Sequence[Device]) -> None:
        self._stored = [document(device) for device in stored]
        self._places = {device.udi: place for place, device in enumerate(stored)}

    async def device(self, udi: str) -> StoredDocument | None:
        place = self._places.get(udi)
        return None if place is None else StoredDocument(self._stored[place], 1, 1, True, 1)

    async def devices(self, udis: Sequence[str]) -> dict[str, StoredDocument]:
        return {udi: found for udi in udis if (found := await self.device(udi))}

    async def coded(self, codes: Sequence[str]) -> list[CodedDevice]:
        return []

    async def rows(self, ids: Sequence[int]) -> list[bytes]:
        return [self._stored[row_id - 1] for row_id in ids]

    async def unindexed(self, srn: str, revision: int, limit: int) -> list[UnindexedRow]:
        return []

    async def revision(self) -> tuple[str, int]:
        return COPY, 0


class NoCertificates:
    """A list of certificates that has none."""

    async def numbered(self, number: str, limit: int) -> CertificatesWithNumber:
        """No certificate."""
        return CertificatesWithNumber((), (), None)


class WholeLists:
    """What is noted of lists of actors: the whole register was loaded."""

    async def facts(self, srn: str) -> ListFacts:
        """Of any actor."""
        return ListFacts(srn, filled_at=1)


async def _is_built() -> bool:
    return False


async def found(stored: Sequence[Device], index: SearchIndex) -> list[list[str]]:
    """A line for each question: what was asked, which way found it, the total, and the places of the first devices."""
    in_order = sorted((device.udi for device in stored), key=udi_order)
    places = {udi: place for place, udi in enumerate(in_order)}
    copy: Any = Copy(stored)
    certificates: Any = NoCertificates()
    lists: Any = WholeLists()
    service = SearchService(copy, index, lambda: None, _is_built, certificates, lists, lambda _srn: None)
    lines = []
    for asked in questions(stored):
        page = await service.search(asked.query, search_filters(asked.filters), page=asked.page)
        lines.append(_line(asked, page, places))
    return lines


def _line(asked: Asked, page: SearchPage, places: Mapping[str, int]) -> list[str]:
    filters = " ".join(f"{name}={value}" for name, value in asked.filters.items())
    first = " ".join(str(places[row.udi]) for row in page.results[:FIRST])
    return [asked.query, filters, str(asked.page), page.match, str(page.total), first]


def expected() -> list[list[str]]:
    """The lines that are kept."""
    with EXPECTED.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, dialect="excel-tab"))


def main() -> None:
    """Write what is found now."""
    stored = devices()
    with tempfile.TemporaryDirectory() as folder:
        lines = asyncio.run(found(stored, indexed(Path(folder), stored, batches=5)))
    with EXPECTED.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, dialect="excel-tab", lineterminator="\n").writerows(lines)


if __name__ == "__main__":
    main()
