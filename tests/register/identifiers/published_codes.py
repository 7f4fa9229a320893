"""Codes that issuing agencies, authorities and libraries publish as examples, and what they say of them.

Each has the document or test suite that it is from. Where a published example has a wrong check digit, that is told.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from registerwatch.register.identifiers.check_digits import hibc_character

GS = "\x1d"


@dataclass(frozen=True, slots=True)
class PublishedCode:
    """A code with what it means: `udi`, `basic` and `srn` are the first candidates of each kind, empty for none."""

    source: str
    text: str
    udi: str = ""
    basic: str = ""
    srn: str = ""
    parts: dict[str, str] = field(default_factory=dict)
    check: str = "right"
    """The verdict on the check digits of the first candidate."""
    expected: str = ""
    """What wrong check digits should be."""
    warned: str = ""
    """A part of a warning."""


def _gtins() -> Iterator[PublishedCode]:
    spec, biip = "GS1 General Specifications", "biip 5.2"
    udis = {
        # biip: tests/gtin
        "96385074": "00000096385074",
        "000096385074": "00000096385074",
        "0000096385074": "00000096385074",
        "00000096385074": "00000096385074",
        "00000017": "00000000000017",
        "00000123": "00000000000123",
        "00001236": "00000000001236",
        "00012348": "00000000012348",
        "00123457": "00000000123457",
        "01234565": "00000001234565",
        "07038013": "00000007038013",
        "614141000036": "00614141000036",
        "0614141000036": "00614141000036",
        "00614141000036": "00614141000036",
        "036000291452": "00036000291452",
        "0036000291452": "00036000291452",
        "00036000291452": "00036000291452",
        "006000291455": "00006000291455",
        "0006000291455": "00006000291455",
        "00006000291455": "00006000291455",
        "000902914511": "00000902914511",
        "0000902914511": "00000902914511",
        "00000902914511": "00000902914511",
        "5901234123457": "05901234123457",
        "05901234123457": "05901234123457",
        "  \t 5901234123457 \n  ": "05901234123457",
        "98765432109213": "98765432109213",
        "6712670000276": "06712670000276",
        # biip: tests/test_parse.py, tests/test_checksums.py, tests/upc
        "12345670": "00000012345670",
        "123601057072": "00123601057072",
        "042100005264": "00042100005264",
        "6291041500213": "06291041500213",
        "7038010054471": "07038010054471",
        "9501101531000": "09501101531000",
        "9788205512375": "09788205512375",
        "14252611": "00142100005261",
        "02345673": "00000002345673",  # and 00023456000073, if it is a UPC-E
        "08679339": "00086700000939",
        "06397126": "00063200009716",
    }
    yield from (PublishedCode(biip, text, udi) for text, udi in udis.items())
    wrong = {"5901234123458": "7", "042100005263": "4", "05901234123458": "7"}
    for text, expected in wrong.items():
        yield PublishedCode(biip, text, text.zfill(14), check="wrong", expected=expected)
    udis = {
        "4006381333931": "04006381333931",
        "09506000134352": "09506000134352",
        "9506000134352": "09506000134352",
        "00614141999996": "00614141999996",
        "10614141000415": "10614141000415",
        "9521101530001": "09521101530001",
    }
    yield from (PublishedCode(spec, text, udi) for text, udi in udis.items())
    accessgudid = "AccessGUDID, API documentation"
    for text in ("08717648200274", "(08717648200274)", "8717648200274", "0871 7648 2002 74"):
        yield PublishedCode(accessgudid, text, "08717648200274")
    yield PublishedCode("EUDAMED help, UDI-DI identification information", "000000" + "96385074", "00000096385074")


def _element_strings() -> Iterator[PublishedCode]:
    biip = "biip 5.2, tests/test_gs1_messages.py"
    gtin = "07032069804988"
    best = {"BEST BEFORE or BEST BY": "2021-05-26"}
    yield PublishedCode(biip, "010703206980498815210526100329", gtin, parts={**best, "lot": "0329"})
    yield PublishedCode(biip, f"(01){gtin}(15)210526(10)0329", gtin, parts={**best, "lot": "0329"})
    yield PublishedCode(biip, f"(01) {gtin} (15) 210526", gtin, parts=best)
    yield PublishedCode(biip, f"01{gtin}10032915210526", gtin, parts={"lot": "032915210526"})
    yield PublishedCode(biip, f"01{gtin}100329{GS}15210526", gtin, parts={"lot": "0329", **best})
    yield PublishedCode(biip, f"01{gtin}100329^15210526", gtin, parts={"lot": "0329", **best})
    yield PublishedCode(biip, f"01{gtin}100329<GS>15210526", gtin, parts={"lot": "0329", **best})
    yield PublishedCode(biip, f"01{gtin}100329{GS}{GS}15210526", gtin, parts={"lot": "0329", **best})
    yield PublishedCode(biip, f"15210526100329{GS}", parts={**best, "lot": "0329"})
    yield PublishedCode(biip, f"15210526{GS}100329", parts={**best, "lot": "0329"})
    yield PublishedCode(biip, "(17)221231", parts={"expiry": "2022-12-31"})
    yield PublishedCode(biip, "  \t (17)221231 \n  ", parts={"expiry": "2022-12-31"})
    yield PublishedCode(biip, f"10123{GS}17221231", parts={"lot": "123", "expiry": "2022-12-31"})
    yield PublishedCode(biip, "(10)123(17)221231", parts={"lot": "123", "expiry": "2022-12-31"})
    yield PublishedCode(biip, "(17)221231(10)123", parts={"expiry": "2022-12-31", "lot": "123"})
    yield PublishedCode(biip, "(10) ABC 123\t(17)221231", parts={"lot": "ABC123", "expiry": "2022-12-31"})
    yield PublishedCode(biip, "(90)N.IGK(7241)28", parts={"INTERNAL": "N.IGK", "AIDC MEDIA TYPE": "28"})
    yield PublishedCode(biip, "(711)?ABC(10)123", parts={"NHRN CIP": "?ABC", "lot": "123"})
    yield PublishedCode(biip, "(01)02302148210869", "02302148210869")
    yield PublishedCode(biip, f"(01){gtin}(15)21052612345", gtin, warned="may follow (15)")
    yield PublishedCode(biip, "(01)070320698049881", warned="may follow (01)")
    yield PublishedCode(biip, "(90)ABæøå(15)210526", parts={**best}, warned="may follow (90)")
    yield PublishedCode(
        biip,
        f'010952123454321310a/b%c{GS}21!"%&()*+,-./:;<=>?_x',
        "09521234543213",
        parts={"lot": "a/b%c", "serial": '!"%&()*+,-./:;<=>?_x'},
    )
    parse = "biip 5.2, tests/test_parse.py"
    yield PublishedCode(parse, "]C10102824040005133", "02824040005133")
    yield PublishedCode(parse, "]E05901234123457", "05901234123457")
    yield PublishedCode(parse, "]E496385074", "00000096385074")
    yield PublishedCode(parse, "]E00123601057072", "00123601057072")
    yield PublishedCode(parse, "]I105901234123457", "05901234123457")
    yield PublishedCode(parse, "0100123601057072", "00123601057072")
    yield PublishedCode(parse, "0105901234123457", "05901234123457")
    yield PublishedCode(parse, "0105901234123458", "05901234123458", check="wrong", expected="7")
    yield PublishedCode(parse, "]C1010590123412345715210526", "05901234123457", parts=best)
    yield PublishedCode(parse, "]e00100123456789012", "00123456789012")
    yield PublishedCode(parse, "00157035381410375177", parts={"SSCC": "157035381410375177"}, warned="SSCC")
    yield PublishedCode(parse, "00376130321109103421", parts={"SSCC": "376130321109103421"}, warned="SSCC")
    yield PublishedCode(
        "GS1 General Specifications", "(02)00614141123452(37)25", "00614141123452", parts={"quantity": "25"}
    )
    dates = "biip 5.2, tests/test_gs1_element_strings.py"
    yield PublishedCode(dates, "(11)030201", parts={"production-date": "2003-02-01"})
    yield PublishedCode(dates, "(17)030201", parts={"expiry": "2003-02-01"})
    yield PublishedCode(dates, "(15)200200", parts={"BEST BEFORE or BEST BY": "2020-02"})
    yield PublishedCode(dates, "(17)211200", parts={"expiry": "2021-12"})
    yield PublishedCode(dates, "(7003)0701021415", parts={"expiry": "2007-01-02T14:15"})
    yield PublishedCode(dates, "(8008)00010214", parts={"production-date": "2000-01-02T14"})
    yield PublishedCode(dates, "(8008)0001021415", parts={"production-date": "2000-01-02T14:15"})
    yield PublishedCode(dates, "(8008)000102141516", parts={"production-date": "2000-01-02T14:15:16"})
    yield PublishedCode(biip, "(15)000000", parts={"BEST BEFORE or BEST BY": ""}, warned="no date")
    fda = "FDA, UDI formats by FDA-accredited issuing agency 1.3"
    all_four = {"production-date": "2014-12-31", "expiry": "2015-07-07", "lot": "A213B1", "serial": "1234"}
    plain = "(01){}(11)141231(17)150707(10)A213B1(21)1234"
    yield PublishedCode(fda, plain.format("51022222233336"), "51022222233336", parts=all_four)
    gudid = "AccessGUDID, parse_udi"
    yield PublishedCode(gudid, plain.format("10884521062856"), "10884521062856", parts=all_four)
    yield PublishedCode(
        gudid, plain.format("00011954013448"), "00011954013448", parts=all_four, check="wrong", expected="2"
    )
    yield PublishedCode(
        gudid,
        "(01)00208851107345(17)150331",
        "00208851107345",
        parts={"expiry": "2015-03-31"},
        check="wrong",
        expected="7",
    )
    yield PublishedCode(gudid, "(01)00844588003288", "00844588003288")
    yield PublishedCode(
        gudid,
        "(01)00844588003288(17)141120(10)7654321D(21)10987654d321",
        "00844588003288",
        parts={"expiry": "2014-11-20", "lot": "7654321D", "serial": "10987654d321"},
    )
    yield PublishedCode(
        gudid,
        f"01008445880032881714112010{'7654321D'}{GS}2110987654d321",
        "00844588003288",
        parts={"expiry": "2014-11-20", "lot": "7654321D", "serial": "10987654d321"},
    )
    yield PublishedCode(
        "IMDRF UDI WG N48, appendix A",
        "(01)09506000117843(11)141231(17)201231(10)1234AB(21)5678CD",
        "09506000117843",
        parts={"production-date": "2014-12-31", "expiry": "2020-12-31", "lot": "1234AB", "serial": "5678CD"},
    )
    yield PublishedCode(
        "GS1 General Specifications",
        "(01)09501101020917(10)AB-123",
        "09501101020917",
        parts={"lot": "AB-123"},
    )


def _digital_links() -> Iterator[PublishedCode]:
    biip = "biip 5.2, tests/test_gs1_digital_link_uris.py"
    gtin = "00614141123452"
    yield PublishedCode(biip, "https://id.gs1.org/01/00614141123452", gtin)
    yield PublishedCode(biip, "https://example.com/foo/01/614141123452", gtin)
    yield PublishedCode(biip, "https://id.gs1.org/01/00614141123452/10/ABC123", gtin, parts={"lot": "ABC123"})
    yield PublishedCode(biip, "https://id.gs1.org/01/00614141123452?foo=bar", gtin)
    yield PublishedCode(
        biip,
        "https://id.gs1.org/00/106141412345678908?02=00614141123452&37=25&10=ABC123",
        gtin,
        parts={"SSCC": "106141412345678908", "quantity": "25", "lot": "ABC123"},
    )
    yield PublishedCode(biip, "https://id.gs1.org/01/614141123452?15=000000", gtin, warned="no date")
    yield PublishedCode(biip, "https://example.com/01/614141123452", gtin)
    yield PublishedCode(biip, "https://brand.example.net/prefix/01/00614141123452", gtin)
    yield PublishedCode(
        biip, "https://example.com/01/614141123452/22/2A/10/ABC123", gtin, parts={"CPV": "2A", "lot": "ABC123"}
    )
    yield PublishedCode(
        biip, "https://example.com/01/09521234543213/21/ABC%2FDEF", "09521234543213", parts={"serial": "ABC/DEF"}
    )
    yield PublishedCode(
        biip, "https://example.com/01/09521234543213/21/AB;C", "09521234543213", parts={"serial": "AB;C"}
    )
    yield PublishedCode(biip, "https://id.gs1.org/01/070320698049881", warned="may follow (01)")
    yield PublishedCode(biip, "http://example.com/foo/123", warned="web page")
    parse = "biip 5.2, tests/test_parse.py"
    best = {"lot": "ABC123", "BEST BEFORE or BEST BY": "2025-03-30"}
    yield PublishedCode(parse, "https://example.com/01/00614141123452/10/ABC123?15=250330", gtin, parts=best)
    yield PublishedCode(parse, "]Q3https://example.com/01/614141123452/10/ABC123?15=250330", gtin, parts=best)
    yield PublishedCode(
        "GS1 Digital Link Standard 1.0",
        "https://id.gs1.org/gtin/614141123452/lot/ABC1/ser/12345?exp=180426",
        gtin,
        parts={"lot": "ABC1", "serial": "12345", "expiry": "2018-04-26"},
    )
    yield PublishedCode("GS1 DigitalLinkDocs", "https://id.gs1.org/gtin/9506000134352", "09506000134352")
    yield PublishedCode(
        "GS1 Digital Link Standard: URI Syntax",
        "https://id.gs1.org/01/09520123456788/10/ABC1/21/12345?17=180426",
        "09520123456788",
        parts={"lot": "ABC1", "serial": "12345", "expiry": "2018-04-26"},
    )
    yield PublishedCode(
        "GS1 EPC URI - Digital Link translator",
        "https://example.com/01/04012345111118/21/987?15=211231",
        "04012345111118",
        parts={"serial": "987", "BEST BEFORE or BEST BY": "2021-12-31"},
    )


def _model_numbers() -> Iterator[PublishedCode]:
    linter = "GS1 Syntax Dictionary, csumalpha linter"
    valid = (
        "1987654Ad4X4bL5ttr2310c2K",
        "12345678901234567890123NT",
        "12345_ABCDEFGHIJKLMCP",
        "12345_NOPQRSTUVWXYZDN",
        "12345_abcdefghijklmN3",
        "12345_nopqrstuvwxyzP2",
        "12345_!\"%&'()*+,-./LC",
        "12345_0123456789:;<=>?62",
        "7907665Bm8v2AB",
        "97850l6KZm0yCD",
        "225803106GSpEF",
        "149512464PM+GH",
        "62577B8fRG7HJK",
        "515942070CYxLM",
        "390800494sP6NP",
        "386830132uO+QR",
        "53395376X1:nST",
        "957813138Sb6UV",
        "530790no0qOgWX",
        "62185314IvwmYZ",
        "23956qk1&dB!23",
        "794394895ic045",
        "57453Uq3qA<H67",
        "0881063PhHvY89",
        "99999zzzzzzzzzzzzzzzzzzT2",
    )
    yield from (PublishedCode(linter, text, basic=text) for text in valid)
    for text in ("1987654Ad4X4bL5ttr2310cXK", "1987654Ad4X4bL5ttr2310c2X"):
        yield PublishedCode(linter, text, basic=text, check="wrong", expected="2K")
    marked = "(8013)1987654Ad4X4bL5ttr2310c2K"
    yield PublishedCode("GS1 General Specifications 3.9.13", marked, basic=marked[6:])


def _hibc() -> Iterator[PublishedCode]:
    spec = "ANSI/HIBC 2.6"
    primary = "A123BJC5D6E71"
    both = {"expiry": "2020-01-15", "lot": "10X3"}
    yield PublishedCode(spec, "+A123BJC5D6E71G", primary)
    yield PublishedCode(spec, "*+A123BJC5D6E71G*", primary)
    yield PublishedCode(spec, " +A123BJC5D6E71G ", primary)
    yield PublishedCode(spec, "+A123BJC5D6E71", primary, check="absent")
    yield PublishedCode(spec, "+A123BJC5D6E71J", primary, check="wrong", expected="G")
    yield PublishedCode(spec, "A123BJC5D6E71", primary, check="unknown")
    yield PublishedCode(spec, "+H123ABC01234567890D", "H123ABC01234567890")
    yield PublishedCode(spec, "+$A1234GU", parts={"lot": "A1234"})
    yield PublishedCode(spec, "+$$52001510X3GD", parts=both)
    yield PublishedCode(spec, "+A99912345/$$52001510X33", "A99912345", parts=both)
    yield PublishedCode(spec, "+A123BJC5D6E71/$$52001510X3C", primary, parts=both)
    serial = {**both, "production-date": "2011-12-12", "serial": "77DEFG45"}
    yield PublishedCode(spec, "+A99912345/$$52001510X3/16D20111212/S77DEFG457", "A99912345", parts=serial)
    yield PublishedCode(spec, "*+A99912345/$$52001510X3/16D20111212/S77DEFG457*", "A99912345", parts=serial)
    yield PublishedCode(spec, "A99912345/$$52001510X3/16D20111212/S77DEFG457", "A99912345", parts=serial)
    yield PublishedCode(
        spec, "+A99912345/$$52001510X3/16D20111212/S77DEFG45/", "A99912345", parts=serial, check="wrong", expected="7"
    )
    dates = {"lot": "10X3", "production-date": "2011-12-31", "expiry": "2020-01-31"}
    yield PublishedCode(spec, "+A99912345/$10X3/16D20111231/14D202001313", "A99912345", parts=dates)
    yield PublishedCode(
        spec, "+A99912349/$10X3/16D20111231/14D20200131/Q500Z", "A99912349", parts={**dates, "quantity": "500"}
    )
    # Table F1 has L in place of the link character, and C in place of the check character, which is calculated here
    lot, number = {"lot": "3C001"}, {"serial": "0001"}
    day, month, hour = {"expiry": "2005-09-28"}, {"expiry": "2005-09"}, {"expiry": "2005-09-28T22"}
    few, many = {"quantity": "24"}, {"quantity": "100"}
    table = {
        "+05271L": day,
        "+$3C001L": lot,
        "+$$09053C001L": {**month, **lot},
        "+$$20928053C001L": {**day, **lot},
        "+$$30509283C001L": {**day, **lot},
        "+$$4050928223C001L": {**hour, **lot},
        "+$$5052713C001L": {**day, **lot},
        "+$$605271223C001L": {**hour, **lot},
        "+$$73C001L": lot,
        "+$$82409053C001L": {**few, **month, **lot},
        "+$$82420928053C001L": {**few, **day, **lot},
        "+$$82430509283C001L": {**few, **day, **lot},
        "+$$8244050928223C001L": {**few, **hour, **lot},
        "+$$8245052713C001L": {**few, **day, **lot},
        "+$$824605271223C001L": {**few, **hour, **lot},
        "+$$82473C001L": {**few, **lot},
        "+$$824L": few,
        "+$$90010009053C001L": {**many, **month, **lot},
        "+$$90010020928053C001L": {**many, **day, **lot},
        "+$$90010030509283C001L": {**many, **day, **lot},
        "+$$9001004050928223C001L": {**many, **hour, **lot},
        "+$$9001005052713C001L": {**many, **day, **lot},
        "+$$900100605271223C001L": {**many, **hour, **lot},
        "+$$90010073C001L": {**many, **lot},
        "+$$900100L": many,
        "+$+0001L": number,
        "+$$+09050001L": {**month, **number},
        "+$$+20928050001L": {**day, **number},
        "+$$+30509280001L": {**day, **number},
        "+$$+4050928200001L": {"expiry": "2005-09-28T20", **number},
        "+$$+5052710001L": {**day, **number},
        "+$$+605271200001L": {"expiry": "2005-09-28T20", **number},
        "+$$+70001L": number,
    }
    for text, parts in table.items():
        yield PublishedCode(f"{spec}, table F1", f"{text}{hibc_character(text)}", parts=parts)
    yield from _hibc_of_libraries()


def _hibc_of_libraries() -> Iterator[PublishedCode]:
    bpb = "BarcodeParserBuilder, HIBC tests"
    both = {"expiry": "2020-01-15", "lot": "10X3"}
    rows: dict[str, tuple[str, dict[str, str]]] = {
        "+A123BJC5D6E71G+2001510X3GG": ("A123BJC5D6E71", both),
        "]zB+A123BJC5D6E71G+2001510X3GG": ("A123BJC5D6E71", both),
        "+A123BJC5D6E71G+$$52001510X3GD": ("A123BJC5D6E71", both),
        "+A123BJC5D6E71G+$$710X3G7": ("A123BJC5D6E71", {"lot": "10X3"}),
        "+A123BJC5D6E71G+$$+52001510X3GB": ("A123BJC5D6E71", {"expiry": "2020-01-15", "serial": "10X3"}),
        "+A123BJCMD6E79++$$52001510X3+ ": ("A123BJCMD6E79", both),
        "+J123AQ3451T+25330BC34567T2+S4012TJ": (
            "J123AQ3451",
            {"expiry": "2025-11-26", "lot": "BC34567", "serial": "4012"},
        ),
        "+J123AQ3451/25330BC34567/S4012X": (
            "J123AQ3451",
            {"expiry": "2025-11-26", "lot": "BC34567", "serial": "4012"},
        ),
        "]Q0+J123AQ3451/25330BC34567/S4012X": (
            "J123AQ3451",
            {"expiry": "2025-11-26", "lot": "BC34567", "serial": "4012"},
        ),
        "+A99912345/$$812710X3/16D20111212/14D20200906/S77DEFG453": (
            "A99912345",
            {
                "quantity": "12",
                "lot": "10X3",
                "production-date": "2011-12-12",
                "expiry": "2020-09-06",
                "serial": "77DEFG45",
            },
        ),
        "+E203PB414109/$$8243280112R00089525J": (
            "E203PB414109",
            {"quantity": "24", "expiry": "2028-01-12", "lot": "R00089525"},
        ),
        "+EHWD3551419/$$900100F": ("EHWD3551419", {"quantity": "100"}),
        "+EHWD3551419/$/Q100X": ("EHWD3551419", {"quantity": "100"}),
        "]d1+EFOR78712011/$26485266/16D20240626/Q10S": (
            "EFOR78712011",
            {"lot": "26485266", "production-date": "2024-06-26", "quantity": "10"},
        ),
        "+J123AQ3451/$$1125BC34567/S4012L": (
            "J123AQ3451",
            {"expiry": "2025-11", "lot": "BC34567", "serial": "4012"},
        ),
        "+J123AQ3451/$$0125BC34567/S4012K": (
            "J123AQ3451",
            {"expiry": "2025-01", "lot": "BC34567", "serial": "4012"},
        ),
        "+J123AQ3451/$$3231231BC34567/S4012R": (
            "J123AQ3451",
            {"expiry": "2023-12-31", "lot": "BC34567", "serial": "4012"},
        ),
        "+E308T800206X0/$$7230513/14D20260413F": ("E308T800206X0", {"lot": "230513", "expiry": "2026-04-13"}),
    }
    yield from (PublishedCode(bpb, text, udi, parts=parts) for text, (udi, parts) in rows.items())
    everything = {
        "expiry": "2020-02-02T16",
        "lot": "LOT123456789012345",
        "serial": "XYZ456789012345678",
        "production-date": "2013-02-02",
    }
    tail = "/$$420020216LOT123456789012345/SXYZ456789012345678/16D20130202"
    yield PublishedCode(bpb, f"+A123ABCDEFGHI1234567891{tail}$", "A123ABCDEFGHI1234567891", parts=everything)
    yield PublishedCode(
        "FDA, UDI formats by FDA-accredited issuing agency 1.3",
        f"+H123PARTNO1234567890120{tail}C",
        "H123PARTNO1234567890120",
        parts=everything,
        check="wrong",
        expected="H",
    )
    yield PublishedCode(
        "IMDRF UDI WG N48, appendix C", "+A999ABC123DE0/$+1234567Y", "A999ABC123DE0", parts={"serial": "1234567"}
    )
    yield PublishedCode(
        "IMDRF UDI WG N48, appendix C",
        "+A999ABC123DE1/$+1234567Y",
        "A999ABC123DE1",
        parts={"serial": "1234567"},
        check="wrong",
        expected="Z",
    )
    yield PublishedCode(
        "bardecoder, HIBC tests",
        "+J014652230580/$$3220909K010025/16D20200311Z",
        "J014652230580",
        parts={"expiry": "2022-09-09", "lot": "K010025", "production-date": "2020-03-11"},
    )
    yield PublishedCode(
        "bardecoder, HIBC tests",
        "*+D002606030421/$$323101700056020/16D20201020Z*",
        "D002606030421",
        parts={"expiry": "2023-10-17", "lot": "00056020", "production-date": "2020-10-20"},
    )
    patient = "ANSI/HIBC 1.3, provider applications"
    for text in ("+/EO5232013", "+/EAH783B", "+/KN12345A", "+/ACMRN123456/V2009121908334"):
        yield PublishedCode(patient, text, warned="provider")
    basic = "++A999MODELIDENTIFIER11S8"
    yield PublishedCode("HIBC Basic UDI-DI; EUDAMED help", basic, basic=basic)
    yield PublishedCode("EUDAMED", "++E494ZIRKON5F5", basic="++E494ZIRKON5F5")
    yield PublishedCode("EUDAMED", "++E494ARTEX7L", basic="++E494ARTEX7L")
    yield PublishedCode(
        "HIBC Basic UDI-DI",
        "++A999MODELIDENTIFIER11S9",
        basic="++A999MODELIDENTIFIER11S9",
        check="wrong",
        expected="S8",
    )


def _iccbba() -> Iterator[PublishedCode]:
    fda = "FDA, UDI formats by FDA-accredited issuing agency 1.3"
    everything = {
        "serial": "000025",
        "donation": "A99971312345600",
        "expiry": "2014-02-01",
        "production-date": "2013-02-01",
        "lot": "000000000000XYZ123",
    }
    tail = "=,000025=A99971312345600=>014032=}013032&,1000000000000XYZ123"
    device = "A9999XYZ100T0944"
    yield PublishedCode(fda, f"=/{device}{tail}", device, parts=everything, check="unknown")
    yield PublishedCode(
        "IMDRF UDI WG N48, appendix A",
        f"=/{device}=,000025=A99971312345600= >014032=}}013032&,1000000000000XYZ123",
        device,
        parts=everything,
        check="unknown",
    )
    yield PublishedCode(
        "AccessGUDID, parse_udi", f"=/W4146EB0010T0475{tail}", "W4146EB0010T0475", parts=everything, check="unknown"
    )
    yield PublishedCode(
        "IDAutomation, ICCBBA UDI", f"=+06000=/{device}{tail}", device, parts=everything, check="unknown"
    )
    bag = {"lot": "RZ12345678"}
    yield PublishedCode(fda, "=)1TE123456A&)RZ12345678", "1TE123456A", parts=bag, check="unknown")
    yield PublishedCode(
        "IMDRF UDI WG N48, appendix A", "=)1TE123456A &)RZ12345678", "1TE123456A", parts=bag, check="unknown"
    )
    spec = "ICCBBA ST-017"
    yield PublishedCode(spec, "=A99991712345600", parts={"donation": "A99991712345600"})
    yield PublishedCode(spec, "=/A9997AB3456T0123", "A9997AB3456T0123", check="unknown")
    yield PublishedCode(spec, "=A99991712345600=,000012", parts={"donation": "A99991712345600", "serial": "000012"})
    four = {"donation": "A99991712345600", "serial": "000012", "expiry": "2019-01-31"}
    yield PublishedCode(
        spec,
        "=+04000=/A9997XYZ100T0479=A99991712345600=,000012=>019031",
        "A9997XYZ100T0479",
        parts=four,
        check="unknown",
    )
    yield PublishedCode(
        spec,
        "=+04035=/A9997XYZ100T0479=,000012=A99991712345600=>019031",
        "A9997XYZ100T0479",
        parts=four,
        check="unknown",
    )
    yield PublishedCode(
        spec,
        "=+06000=/A9999XYZ100T0476=,000025=A99971312345600=>019032=}017032&,1000000000000XYZ123",
        "A9999XYZ100T0476",
        parts={**everything, "expiry": "2019-02-01", "production-date": "2017-02-01"},
        check="unknown",
    )
    appendix = "ICCBBA ST-001, appendix A"
    yield PublishedCode(appendix, "=G12341765432170", parts={"donation": "G12341765432170"})
    yield PublishedCode(appendix, "=G12341765432171", parts={"donation": "G12341765432171"}, warned="should be 70")
    yield PublishedCode(appendix, "=A999917123456", parts={"donation": "A999917123456"}, warned="15 characters")
    yield PublishedCode(
        "ICCBBA ST-012",
        "=+05000=Z54991712345600=%T300=<T0416003&>0183652359",
        parts={
            "donation": "Z54991712345600",
            "Blood groups": "T300",
            "Product code": "T0416003",
            "expiry": "2018-12-31T23:59",
        },
    )
    for text in (device, "A9997XYZ100T0479"):
        yield PublishedCode(fda, text, text, check="unknown")


def _ifa() -> Iterator[PublishedCode]:
    spec = "IFA, Specification UDI 2.5"
    batch = {"lot": "ABC12345", "expiry": "2024-12-31"}
    begin, end = f"[)>\x1e06{GS}", "\x1e\x04"
    yield PublishedCode(
        spec, f"{begin}9N1312345MED777094{GS}1TABC12345{GS}D241231{end}", "1312345MED777094", parts=batch
    )
    tagged = "[)><RS>06<GS>9N1312345MED777094<GS>1TABC12345<GS>D241231<RS><EOT>"
    yield PublishedCode(spec, tagged, "1312345MED777094", parts=batch)
    yield PublishedCode(spec, "(9N)1312345MED777094(1T)ABC12345(D)241231", "1312345MED777094", parts=batch)
    yield PublishedCode(spec, ".9N1312345MED777094^1TABC12345^D241231", "1312345MED777094", parts=batch)
    yield PublishedCode(spec, f"9N1312345MED777094{GS}1TABC12345{GS}D241231", "1312345MED777094", parts=batch)
    yield PublishedCode(spec, "(9N)111234567842(1T)ABC12345(D)241231", "111234567842", parts=batch)
    codes = (
        "1312345MED777094",
        "1312345MED777227",
        "1312345170400033",
        "1312345ABCD12345678056",
        "1312345MAX18076",
        "MA12345MAX1900",
        "111234567842",
        "MA12345ABCD.1234563",
    )
    for code in codes:
        yield PublishedCode(spec, code, code)
        yield PublishedCode(spec, f"(9N){code}", code)
    yield PublishedCode(
        spec,
        "(9N)111234567842 (1T)170400XYZ (16D)20210417",
        "111234567842",
        parts={"lot": "170400XYZ", "production-date": "2021-04-17"},
    )
    yield PublishedCode(
        spec,
        f"{begin}9N111234567842{GS}D240600{GS}33Lhttp://Produkthinweis.de{end}",
        "111234567842",
        parts={"expiry": "2024-06", "Web address": "http://Produkthinweis.de"},
    )
    yield PublishedCode(
        spec,
        f"{begin}9N111234567842{GS}SJXCC263D0889{GS}1T170400XYZ{GS}D230617{end}",
        "111234567842",
        parts={"serial": "JXCC263D0889", "lot": "170400XYZ", "expiry": "2023-06-17"},
    )
    both = "(9N)111234567842(9N)MA12345MAX1900(1T)A123(16D)20251120"
    yield PublishedCode(spec, both, "111234567842", parts={"lot": "A123", "production-date": "2025-11-20"})
    basic = "PP12345ABCD.12345678.9004"
    yield PublishedCode(spec, basic, basic=basic)
    checks = "IFA, Technical Notes - Check Digit Calculations"
    yield PublishedCode(checks, "110375286414", "110375286414")
    yield PublishedCode(checks, "9N110375286414", "110375286414")
    yield PublishedCode(checks, "(9N)110375286415", "110375286415", check="wrong", expected="14")
    retail = "IFA, PPN-Code Specification for Retail Packaging"
    serial = {"lot": "1A234B5", "expiry": "2015-12-31", "serial": "1234567890123456"}
    text = f"9N111234567842{GS}1T1A234B5{GS}D151231{GS}S1234567890123456"
    yield PublishedCode(retail, f"{begin}{text}{end}", "111234567842", parts=serial)
    yield PublishedCode(retail, "(9N)111234567842(1T)1A234B5(D)151231(S)1234567890123456", "111234567842", parts=serial)
    as_gs1 = f"01041501234567 82101A234B5{GS}17151231211234567890123456".replace(" ", "")
    yield PublishedCode(retail, as_gs1, "04150123456782", parts=serial)


def _eudamed() -> Iterator[PublishedCode]:
    legacy = "EUDAMED help, identification details of a legacy device"
    di, own = "B-BEMF000000106CR023335WE", "D-BEMF000000106CR023335WE"
    yield PublishedCode(legacy, di, own, basic=di)
    yield PublishedCode(legacy, own, own)
    form = "European Commission, Format of the EUDAMED DI identification number"
    yield PublishedCode(form, "B-CR023368", "D-CR023368", basic="B-CR023368")
    yield PublishedCode(form, "D-CR023368", "D-CR023368")
    yield PublishedCode(form, "D-CR023369", "D-CR023369", check="unknown")
    yield PublishedCode(legacy, "B-06947145553906", "06947145553906", basic="B-06947145553906")
    srns = ("DE-MF-000006413", "AT-MF-000000252", "BE-MF-000000106", "IT-MF-000009572")
    for srn in srns:
        for text in (srn, srn.lower(), srn.replace("-", " "), srn.replace("-", ""), srn.replace("-", "–"), f" {srn}\n"):
            yield PublishedCode("MDCG 2021-13, form of the SRN", text, srn=srn, check="unknown")
    yield PublishedCode(
        "MDCG 2021-13, form of the SRN", "SRN: DE-AR-000 006 413", srn="DE-AR-000006413", check="unknown"
    )


PUBLISHED = [
    *_gtins(),
    *_element_strings(),
    *_digital_links(),
    *_model_numbers(),
    *_hibc(),
    *_iccbba(),
    *_ifa(),
    *_eudamed(),
]
