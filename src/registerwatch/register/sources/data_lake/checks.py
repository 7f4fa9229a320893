"""Looking at whether the Data Lake's devices have the columns that are read."""

from collections.abc import Collection

from registerwatch.register.outcomes import RegisterFailure
from registerwatch.register.sources.checks import (
    CheckName,
    Looked,
    Outcome,
    Shape,
    judge_shape,
    judge_values,
    outcome_of,
)
from registerwatch.register.sources.data_lake.client import DataLakeClient
from registerwatch.register.sources.data_lake.wire import device_row


class DataLakeChecks:
    """The checks of the Data Lake: whether its devices have the columns that are read."""

    names = frozenset({CheckName.DATA_LAKE_ROW, CheckName.DATA_LAKE_VALUES})

    def __init__(self, client: DataLakeClient) -> None:
        self._client = client

    async def look(self, due: Collection[CheckName], certified: str = "") -> Looked:
        """Look at a page of devices."""
        try:
            rows = await self._client.first_rows()
        except RegisterFailure as failure:
            return Looked(dict.fromkeys(self.names, outcome_of(failure)))
        outcomes: dict[CheckName, Outcome] = {
            CheckName.DATA_LAKE_ROW: judge_shape(_SHAPE, rows),
            CheckName.DATA_LAKE_VALUES: judge_values(_SHAPE, rows),
        }
        return Looked(outcomes)


_USUAL = frozenset(
    {
        "APPLICABLE_LEGISLATION_ID",
        "AR_NAME",
        "AR_SRN",
        "BASIC_UDI",
        "DEVICE_MODEL",
        "DEVICE_NAME",
        "IMPLANTABLE",
        "LATEX",
        "NOMENCLATURE_CODE",
        "REFERENCE",
        "REUSABLE",
        "RISK_CLASS_ID",
        "STERILE",
        "TRADE_NAME",
    }
)
"""Whether a column that is empty in a row is named there has not been seen."""
_SHAPE = Shape(
    device_row,
    keys=frozenset({"UUID", "PRIMARY_DI"}),
    filled=frozenset({"DEVICE_STATUS_TYPE_ID", "LATEST_VERSION", "MF_NAME", "MF_SRN", "VERSION_NUMBER"}),
    optional=_USUAL
    | {
        "AR_ACTOR_NAMES",
        "CONTAINER_PACKAGE_DIS",
        "DIRECT_MARKETING_DI",
        "MF_ACTOR_NAMES",
        "SECONDARY_DI",
        "UNIT_OF_USE_DI",
    },
    usual=_USUAL,
)
