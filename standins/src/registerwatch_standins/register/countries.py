"""Countries: what the register calls them, and what an operator from there looks like."""

from msgspec import Struct

from registerwatch_standins.register.generation.vocabulary import LANGUAGES


class Country(Struct, frozen=True):
    """A country that operators register from.

    `share` is its weight among manufacturers, `gs1` a GS1 country prefix.
    """

    iso2: str
    name: str
    share: int
    gs1: str
    language: str
    legal_form: str
    cities: tuple[str, ...]


_COUNTRIES = """
DE|Germany|220|404|de|GmbH|Tuttlingen,Hamburg,München,Jena,Köln
CN|China|140|697|en|Co., Ltd.|Shenzhen,Suzhou,Hangzhou,Shanghai
US|United States|110|081|en|Inc.|Minneapolis,Irvine,Boston,Warsaw
IT|Italy|100|803|it|S.r.l.|Modena,Milano,Bologna,Roma
FR|France|65|370|fr|SAS|Lyon,Besançon,Paris,Nîmes
GB|United Kingdom|55|506|en|Ltd|Leeds,Sheffield,Cambridge
ES|Spain|45|843|es|S.L.|Barcelona,Valencia,Madrid,Málaga
PL|Poland|40|590|pl|Sp. z o.o.|Łódź,Warszawa,Kraków
NL|Netherlands|30|872|nl|B.V.|Utrecht,Eindhoven,Leiden
SE|Sweden|28|735|sv|AB|Göteborg,Malmö,Uppsala
CH|Switzerland|28|764|de|AG|Basel,Biel,Zürich
TR|Türkiye|26|868|tr|A.Ş.|İzmir,Ankara,İstanbul
KR|South Korea|24|880|en|Co., Ltd.|Seoul,Daejeon,Wonju
JP|Japan|18|458|en|K.K.|Tokyo,Osaka
AT|Austria|18|912|de|GmbH|Graz,Wien,Linz
BE|Belgium|18|541|fr|NV|Gent,Liège,Leuven
DK|Denmark|18|571|da|A/S|Ballerup,Århus
FI|Finland|17|643|fi|Oy|Vantaa,Tampere
CZ|Czechia|17|859|cs|s.r.o.|Brno,Praha
IN|India|16|890|en|Pvt. Ltd.|Chennai,Ahmedabad,Pune
GR|Greece|14|520|el|A.E.|Αθήνα,Θεσσαλονίκη
BG|Bulgaria|12|380|bg|ЕООД|София,Пловдив,Варна
HU|Hungary|10|599|hu|Kft.|Budapest,Debrecen
IE|Ireland|10|539|en|Ltd|Galway,Cork,Dublin
PT|Portugal|9|560|pt|Lda.|Porto,Lisboa
IL|Israel|9|729|en|Ltd.|Haifa,Caesarea
AU|Australia|6|935|en|Pty Ltd|Sydney,Melbourne
CA|Canada|6|754|en|Inc.|Toronto,Laval
SK|Slovakia|5|858|sk|s.r.o.|Bratislava,Košice
NO|Norway|4|703|no|AS|Oslo,Trondheim
MT|Malta|1|535|en|Ltd|Valletta
XI|United Kingdom (Northern Ireland only)|2|505|en|Ltd|Belfast
"""

COUNTRIES: dict[str, Country] = {}
for _line in _COUNTRIES.strip().splitlines():
    _iso2, _name, _share, _gs1, _language, _form, _cities = _line.split("|")
    COUNTRIES[_iso2] = Country(_iso2, _name, int(_share), _gs1, _language, _form, tuple(_cities.split(",")))

TRADE_LANGUAGES = {iso2: place.language if place.language in LANGUAGES else "en" for iso2, place in COUNTRIES.items()}
"""The language, other than English, in which operators of a country name their devices."""

REPRESENTATIVE_COUNTRIES = ("DE", "DE", "DE", "NL", "NL", "IE", "IE", "XI", "MT", "ES", "BE", "FR")
"""Where authorised representatives sit, the most common named most often."""

_MARKET = """
AT|Austria BE|Belgium BG|Bulgaria HR|Croatia CY|Cyprus CZ|Czechia DK|Denmark EE|Estonia FI|Finland FR|France
DE|Germany GR|Greece HU|Hungary IS|Iceland IE|Ireland IT|Italy LV|Latvia LI|Liechtenstein LT|Lithuania
LU|Luxembourg MT|Malta NL|Netherlands NO|Norway PL|Poland PT|Portugal RO|Romania SK|Slovakia SI|Slovenia
ES|Spain SE|Sweden TR|Türkiye
"""
MARKET_COUNTRIES: dict[str, str] = {
    **dict(country.split("|", 1) for country in _MARKET.split()),
    "XI": "United Kingdom (Northern Ireland only)",
}
"""Where a device can be made available, by ISO code."""

_LANGUAGES = """
bg|Bulgarian cs|Czech da|Danish de|German el|Greek en|English es|Spanish et|Estonian fi|Finnish fr|French ga|Irish
hr|Croatian hu|Hungarian is|Icelandic it|Italian lt|Lithuanian lv|Latvian mt|Maltese nl|Dutch no|Norwegian pl|Polish
pt|Portuguese ro|Romanian sk|Slovak sl|Slovenian sv|Swedish tr|Turkish
"""
LANGUAGE_NAMES = dict(language.split("|") for language in _LANGUAGES.split())


_BODY_COUNTRIES = "0051|IT 2797|NL 0344|NL 2265|SK 0459|FR 1639|BE"
BODY_COUNTRIES = dict(body.split("|") for body in _BODY_COUNTRIES.split())
"""The countries of notified bodies by their numbers; those that are not here are German."""


def country_type(iso2: str) -> str:
    """The register's group for a country."""
    if iso2 == "XI":
        return "EU_SPECIAL"
    if iso2 in ("IS", "LI", "NO", "TR"):
        return "EU_EXTENDED"
    return "EU_MEMBER_STATE" if iso2 in MARKET_COUNTRIES else "NON_EU_MEMBER_STATE"


def country_name(iso2: str) -> str:
    """The English name of a country, or its code where this register knows none."""
    if iso2 in COUNTRIES:
        return COUNTRIES[iso2].name
    return MARKET_COUNTRIES.get(iso2, iso2)


def country_of_srn(srn: str) -> str:
    """The ISO code of the country in an SRN, whose prefixes mix conventions (`UK`/`GB`, `EL`/`GR`)."""
    prefix = srn[:2]
    return {"UK": "GB", "EL": "GR"}.get(prefix, prefix)
