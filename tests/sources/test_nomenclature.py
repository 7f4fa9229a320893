"""The nomenclature as the register lists it, whose form was never published."""

import json
from typing import Any

import httpx2
import pytest

from registerwatch.register.nomenclature import nomenclature_of
from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.eudamed.nomenclature import EudamedNomenclature
from tests.register.canned import CannedRegister, a_page, in_turn, ok
from tests.sources.conftest import Sender

BASE = "http://register.test/eudamed"
TERM = {
    "uuid": "CD48A569F3438334E05343E4A79E78D8",
    "code": "Q010699",
    "description": {
        "texts": [
            {"language": {"isoCode": "de", "name": "German"}, "text": "PLATTEN", "allLanguagesApplicable": None},
            {"language": {"isoCode": "en", "name": "English"}, "text": "PLATES ", "allLanguagesApplicable": None},
        ]
    },
    "gmdnNomenclatures": [],
}


def a_term(number: int, **differs: Any) -> dict[str, Any]:
    return {**TERM, "code": f"Q{number:04}", **differs}


def pages_of(terms: list[dict[str, Any]]) -> CannedRegister:
    def answer(request: httpx2.Request) -> httpx2.Response:
        size, page = int(request.url.params["size"]), int(request.url.params["page"])
        rows = terms[page * size : (page + 1) * size]
        return ok(a_page(*rows, total=len(terms), last=(page + 1) * size >= len(terms)))

    return CannedRegister(answer)


async def names(sender: Sender, register: CannedRegister) -> dict[str, str]:
    read = nomenclature_of(await EudamedNomenclature(sender(register), BASE).terms())
    assert read.problems == ()
    return dict(read.names)


async def test_a_bare_list_and_pages_are_both_taken(sender: Sender) -> None:
    terms = [a_term(number) for number in range(701)]
    expected = {f"Q{number:04}": "PLATES" for number in range(701)}
    register = pages_of(terms)

    assert await names(sender, in_turn(ok(terms))) == expected
    assert await names(sender, register) == expected
    assert [request.url.path for request in register.asked] == ["/eudamed/devices/nomenclatures/"] * 3


@pytest.mark.parametrize(
    ("differs", "name"),
    [
        ({}, "PLATES"),
        ({"description": "PLATES"}, "PLATES"),
        ({"description": None, "term": {"texts": [{"language": None, "text": "ALL"}]}}, "ALL"),
        ({"description": {"texts": [{"language": {"isoCode": "fr"}, "text": "PLAQUES"}]}}, "PLAQUES"),
        ({"code": {"code": "Q0001"}, "name": "PLATES", "description": 7}, "PLATES"),
    ],
)
async def test_a_term_is_taken_in_any_form_that_other_records_have(
    sender: Sender, differs: dict[str, Any], name: str
) -> None:
    assert await names(sender, in_turn(ok([a_term(1, **differs)]))) == {"Q0001": name}


async def test_an_entry_that_cannot_be_read_is_named_and_the_others_are_read(sender: Sender) -> None:
    register = in_turn(ok([a_term(1), a_term(2, description=None), 7, a_term(3), a_term(4), a_term(5)]))

    read = nomenclature_of(await EudamedNomenclature(sender(register), BASE).terms())

    assert sorted(read.names) == ["Q0001", "Q0003", "Q0004", "Q0005"]
    assert [each.partition(" needs")[0] for each in read.problems[:1]] == ["Entry “Q0002”: Q0002"]
    assert [each.partition(" (")[0] for each in read.problems[1:]] == ["An entry that cannot be read"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (httpx2.Response(500), "status 500"),
        (httpx2.Response(302, headers={"location": "/page-not-found"}), "no list of the nomenclature"),
        (httpx2.Response(404, json={"status": 404, "error": "Not Found"}), "no list of the nomenclature"),
        (ok([]), "empty or cut"),
        (ok([a_term(number) for number in range(300)]), "empty or cut"),
        (ok({"terms": []}), "unexpected form"),
        (ok([{"id": 1, "label": "PLATES"}] * 2), "unexpected form"),
        (ok("PLATES"), "unexpected form"),
        (ok(a_page(a_term(1), total=9)), "1 of 9 terms came"),
        (ok(a_page(a_term(1), total=9, last=False)), "1 of 9 terms came"),
        (ok(a_page(a_term(1), total=80_000)), "implausible"),
        (ok(a_page(total=9)), "throttl|empty"),
        (httpx2.Response(200, content=json.dumps([a_term(1)])[:40].encode()), "broke its answer off"),
    ],
)
async def test_anything_else_could_not_be_read(sender: Sender, answer: httpx2.Response, reason: str) -> None:
    with pytest.raises(RegisterFailure, match=reason):
        await EudamedNomenclature(sender(in_turn(answer)), BASE).terms()
