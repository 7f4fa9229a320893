"""The search index of this node in `/health` and `/metrics`."""

from typing import Annotated

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from registerwatch.bootstrap import Service
from registerwatch.copy.records import CopyState
from registerwatch.copy.search.indexer import Indexer
from registerwatch.web.answers.answers import Answer, doc


class HealthIndex(Answer):
    """The search index of this node."""

    devices: Annotated[int, doc("Devices that can be found.", 3150000)]
    lag: Annotated[int, doc("Stored changes that cannot be found yet.", 0)]
    error: Annotated[
        str | None,
        doc("Why searches cannot show everything right now, null when they can.", "The search index is being built."),
    ]
    rebuilds: Annotated[int, doc("How often this process found the index damaged and began it anew.", 0)]


def index_health(service: Service, state: CopyState) -> HealthIndex:
    """The part of the index in `/health`, given the state of the copy."""
    indexer = service.indexer
    lag = indexer.lag_behind(state.copy_id, state.revision)
    return HealthIndex(service.index.documents, lag, indexer.problem(), indexer.rebuilds)


async def index_metrics(indexer: Indexer) -> list[Metric]:
    """The metrics of the index."""
    return [
        GaugeMetricFamily("registerwatch_index_lag", "Changes that cannot be found yet.", await indexer.lag()),
        GaugeMetricFamily(
            "registerwatch_index_complete", "1 while searches can show everything, else 0.", indexer.problem() is None
        ),
        CounterMetricFamily(
            "registerwatch_index_rebuilds", "How often the index was damaged and begun anew.", indexer.rebuilds
        ),
    ]
