"""Each check of EUDAMED, by its name."""

from collections.abc import Mapping

from registerwatch.sources.checks.names import CheckName
from registerwatch.sources.checks.source_checks import Look, pace
from registerwatch.sources.eudamed.checks import filters, lists, records

LOOKS: Mapping[CheckName, Look] = {**lists.LOOKS, **filters.LOOKS, **records.LOOKS, CheckName.PACE: pace}
