"""All assumptions about the sources: the one list that daily checks, the command and the documentation share.

The check of each is beside the source (`LOOKS`), under the same name.
"""

from collections.abc import Mapping

from registerwatch.sources.checks.assumption import Assumption
from registerwatch.sources.checks.data_lake_assumptions import DATA_LAKE
from registerwatch.sources.checks.list_assumptions import LISTS
from registerwatch.sources.checks.names import CheckName
from registerwatch.sources.checks.record_assumptions import RECORDS

ASSUMPTIONS: Mapping[CheckName, Assumption] = {
    name: each for name in CheckName for each in (*LISTS, *RECORDS, *DATA_LAKE) if each.name is name
}
"""Every assumption by its name, in the order of the checks."""
DAILY = frozenset(name for name, each in ASSUMPTIONS.items() if each.is_daily)
