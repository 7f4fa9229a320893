"""`/openapi.json` says what the service does: schemathesis looks for a difference."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode

from tests.parts.serving import served_stage

OPERATIONS = ("GET /v1/search", "GET /v1/refresh", "GET /v1/devices/{udi}", "GET /v1/actors/{srn}", "GET /health")
AnyCase = Case[Any]
MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)


@pytest.fixture(scope="module")
def address(sqlite_template: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A filled service on loopback; one for the whole module."""
    folder = tmp_path_factory.mktemp("described")
    with served_stage(f"sqlite:///{folder / 'copy.db'}", folder) as (address, _stage):
        yield address


def _asks_for_something(case: AnyCase) -> bool:
    """Whether a search has a query or a filter, which a description of parameters cannot demand."""
    query = case.query or {}
    return case.operation.label != "GET /v1/search" or bool(
        str(query.get("q", "")).strip() or query.get("status") or query.get("risk")
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("label", OPERATIONS)
def test_every_answer_is_as_described(label: str, mode: GenerationMode, address: str) -> None:
    schema = schemathesis.openapi.from_url(f"{address}/openapi.json")
    operations = {each.ok().label: each.ok() for each in schema.get_all_operations()}  # type: ignore[union-attr]
    assert set(operations) == set(OPERATIONS), "each operation has its line above"
    if label == "GET /health" and mode is GenerationMode.NEGATIVE:
        return  # it takes nothing that could be wrong

    @settings(
        max_examples=60,
        deadline=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operations[label].as_strategy(generation_mode=mode))
    def answered(case: AnyCase) -> None:
        if mode is GenerationMode.POSITIVE and not _asks_for_something(case):
            assert case.call(base_url=address).status_code == 400
            return
        case.call_and_validate(base_url=address)

    answered()


def test_every_field_and_parameter_is_described_and_invalid_input_is_400(address: str) -> None:
    description = httpx2.get(f"{address}/openapi.json").json()

    assert description["openapi"].startswith("3.1")
    assert description["info"]["version"] == "1.0.0"
    assert "European Commission" in description["info"]["description"]
    for name, model in description["components"]["schemas"].items():
        assert model.get("description"), name
        for field, about in model.get("properties", {}).items():
            assert about.get("description") or "$ref" in about, f"{name}.{field}"
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            assert operation.get("summary"), path
            assert "422" not in operation["responses"], f"{method} {path}: invalid input is 400"
            for parameter in operation.get("parameters", []):
                assert parameter.get("description"), f"{path} {parameter['name']}"
