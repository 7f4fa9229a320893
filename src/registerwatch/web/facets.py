"""Facets in answers of all surfaces: every value with its words and its number."""

from collections.abc import Mapping
from typing import Annotated

from registerwatch.copy.search.filters import OTHER, UNKNOWN, Counts, Facet
from registerwatch.lookup.facet_names import FacetNames, Names, shown_values
from registerwatch.register.codes import LEGISLATION_PREFIX, RISK_BY_CODE, STATUS_BY_CODE, label
from registerwatch.web.answers.answers import Answer, doc
from registerwatch.web.countries import country_name

NOT_KNOWN = "Not known"
ANOTHER = "Another one"

_LABELS: Mapping[Facet, Mapping[str, str]] = {
    Facet.STATUS: {status.value: label(code) for code, status in STATUS_BY_CODE.items()},
    Facet.RISK: {risk.value: label(code) for code, risk in RISK_BY_CODE.items()},
}
_YES_NO = {"yes": "Yes", "no": "No"}


class FacetValue(Answer):
    """A value that results have."""

    value: Annotated[
        str,
        doc(
            "As the parameter of the same name takes it. `unknown` where it is not known of a device, which is never"
            " `no`. The parameters do not take `other`, such as for legacy risk classes; `status` and `risk` take no"
            " `unknown` either.",
            "DE",
        ),
    ]
    label: Annotated[str, doc("In words, as far as names are stored; else the value.", "Germany")]
    total: Annotated[int, doc("Exact number of results that have it.", 42)]


class FacetAnswer(Answer):
    """The values that results have for one filter, those that most results have first."""

    values: Annotated[
        list[FacetValue],
        doc(
            "At most 10 manufacturers and 300 of anything else. Of EMDN the codes on the first level, or on the level"
            " below `emdn` where that is sent. A device may have several codes and several notified bodies."
        ),
    ]
    others: Annotated[
        int, doc("How many results have a value that is not told, each counted once for every such value.", 0)
    ]


async def facet_answers(counts: Counts, stored: FacetNames) -> dict[str, FacetAnswer]:
    """Facets with the names that are stored, by the name of the parameter."""
    names = await stored.of(shown_values(counts))
    return {
        facet.value: FacetAnswer(
            [FacetValue(value, facet_label(facet, value, names), total) for value, total in each.values], each.others
        )
        for facet, each in counts.items()
    }


def facet_label(facet: Facet, value: str, names: Names) -> str:
    """A value in words."""
    if value == UNKNOWN:
        return NOT_KNOWN
    if value == OTHER:
        return ANOTHER
    if facet is Facet.COUNTRY:
        return country_name(value)
    if facet is Facet.LEGISLATION:
        return label(LEGISLATION_PREFIX + value)
    fixed = _LABELS.get(facet) or names.get(facet) or _YES_NO
    return fixed.get(value, value)
