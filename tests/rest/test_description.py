"""`/openapi.json` says what the service does: schemathesis looks for a difference."""

import json
import re
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

import httpx2
import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import APIOperation, Case, GenerationMode
from schemathesis.checks import negative_data_rejection, positive_data_acceptance

from registerwatch.copy.search.filters import Facet
from registerwatch.web.files.spreadsheet import XLSX
from tests.billing.plain_provider import SETTINGS
from tests.support.harness import ServiceHarness, auth_headers
from tests.support.servers import served_harness

OPEN = (
    "GET /v1/search",
    "GET /v1/parse",
    "GET /v1/refresh",
    "GET /v1/devices/{udi}",
    "GET /v1/actors/{srn}",
    "GET /v1/actors/{srn}/certificates",
    "GET /v1/certificates",
    "GET /v1/certificates/{id}",
    "GET /v1/certificates/{id}/documents/{uuid}",
    "GET /v1/devices/{udi}/history",
    "GET /v1/actors/{srn}/history",
    "GET /health",
    "GET /live",
    "GET /ready",
    "GET /v1/events.atom",
    "GET /v1/expiring.ics",
    "POST /v1/trial",
    "POST /v1/login",
    "POST /v1/password/forgot",
    "POST /v1/password/reset",
    "POST /v1/billing/webhook",
    "POST /v1/mail/bounces",
)
BY_KEY = (
    "POST /v1/logout",
    "GET /v1/me",
    "POST /v1/password",
    "POST /v1/account/delete",
    "POST /v1/users",
    "DELETE /v1/users/{id}",
    "POST /v1/keys",
    "GET /v1/sessions",
    "DELETE /v1/sessions",
    "DELETE /v1/sessions/{id}",
    "GET /v1/audit",
    "GET /v1/watches",
    "POST /v1/watches",
    "PATCH /v1/watches/{id}",
    "DELETE /v1/watches/{id}",
    "POST /v1/sync",
    "GET /v1/events",
    "GET /v1/expiring",
    "POST /v1/import",
    "GET /v1/lists",
    "POST /v1/lists",
    "GET /v1/lists/{id}",
    "PATCH /v1/lists/{id}",
    "DELETE /v1/lists/{id}",
    "GET /v1/lists/{id}/lines",
    "GET /v1/lists/{id}/lines.csv",
    "GET /v1/lists/{id}/lines.xlsx",
    "POST /v1/lists/{id}/watch",
    "GET /v1/lists/{id}/uploads/{upload_id}",
    "PATCH /v1/lists/{id}/uploads/{upload_id}",
    "DELETE /v1/lists/{id}/uploads/{upload_id}",
    "POST /v1/lists/{id}/uploads/{upload_id}/keep",
    "POST /v1/webhook",
    "POST /v1/webhook/test",
    "GET /v1/webhooks",
    "POST /v1/webhooks",
    "DELETE /v1/webhooks/{id}",
    "POST /v1/webhooks/{id}/test",
    "POST /v1/webhooks/{id}/rotate",
    "GET /v1/webhooks/{id}/deliveries",
    "POST /v1/webhooks/{id}/deliveries/{delivery}/resend",
    "GET /v1/channels",
    "POST /v1/channels",
    "GET /v1/channels/{id}",
    "PATCH /v1/channels/{id}",
    "DELETE /v1/channels/{id}",
    "POST /v1/channels/{id}/test",
    "GET /v1/channels/{id}/deliveries",
    "GET /v1/feeds",
    "POST /v1/feeds",
    "DELETE /v1/feeds/{id}",
    "POST /v1/billing/checkout",
    "POST /v1/billing/confirm",
    "POST /v1/billing/cancel",
    "POST /v1/billing/resume",
    "POST /v1/billing/portal",
)
KINDS_OF_BODIES = {
    "/v1/import": ["application/json", "text/csv"],
    "/v1/lists": ["text/csv", XLSX, "application/octet-stream"],
}
"""Of POSTs that take more than JSON."""
TAKES_ANY_BODY = {"POST /v1/lists"}
"""Any bytes are taken for a file; its upload says what is wrong with it."""
BY_SESSION = ("DELETE /v1/keys/{id}",)
"""A number may be that of the account's own key."""
OPERATIONS = (*OPEN, *BY_KEY, *BY_SESSION)
NOTHING_CAN_BE_WRONG = {
    "GET /health",
    "GET /live",
    "GET /ready",
    "GET /v1/me",
    "GET /v1/expiring",
    "GET /v1/sessions",
    "DELETE /v1/sessions",
    "DELETE /v1/sessions/{id}",
    "GET /v1/lists",
    "GET /v1/webhooks",
    "GET /v1/channels",
    "GET /v1/feeds",
    "POST /v1/logout",
    "POST /v1/sync",
    "POST /v1/webhook/test",
    "POST /v1/feeds",
    "POST /v1/billing/cancel",
    "POST /v1/billing/resume",
    "POST /v1/billing/portal",
}
REFUSES_MORE = {
    "POST /v1/trial",
    "POST /v1/keys",
    "GET /v1/audit",
    "GET /v1/devices/{udi}/history",
    "GET /v1/actors/{srn}/history",
    "POST /v1/password/forgot",
    "POST /v1/password/reset",
    "POST /v1/users",
    "DELETE /v1/users/{id}",
    "DELETE /v1/keys/{id}",
    "GET /v1/events.atom",
    "GET /v1/expiring.ics",
    "POST /v1/watches",
    "PATCH /v1/watches/{id}",
    "POST /v1/import",
    "POST /v1/lists",
    "GET /v1/lists/{id}",
    "PATCH /v1/lists/{id}",
    "GET /v1/lists/{id}/lines",
    "GET /v1/lists/{id}/lines.csv",
    "GET /v1/lists/{id}/lines.xlsx",
    "POST /v1/lists/{id}/watch",
    "GET /v1/lists/{id}/uploads/{upload_id}",
    "PATCH /v1/lists/{id}/uploads/{upload_id}",
    "POST /v1/lists/{id}/uploads/{upload_id}/keep",
    "POST /v1/webhook",
    "POST /v1/webhook/test",
    "POST /v1/webhooks",
    "POST /v1/webhooks/{id}/test",
    "POST /v1/webhooks/{id}/rotate",
    "GET /v1/webhooks/{id}/deliveries",
    "POST /v1/webhooks/{id}/deliveries/{delivery}/resend",
    "POST /v1/channels",
    "GET /v1/channels/{id}",
    "PATCH /v1/channels/{id}",
    "POST /v1/channels/{id}/test",
    "GET /v1/channels/{id}/deliveries",
    "POST /v1/feeds",
    "POST /v1/billing/confirm",
    "POST /v1/billing/cancel",
    "POST /v1/billing/resume",
    "POST /v1/billing/portal",
    "POST /v1/billing/webhook",
    "POST /v1/mail/bounces",
}
"""Operations that refuse, rightly, some of what fits the description: an address that takes no mail or no posts or
that somebody has, an end that is over, two places of a list to begin at, a token or an id that nobody has, a body that
nobody signed, a report without the operator's secret, a subscription that is not there, one more than a cap allows."""
AnyCase = Case[Any]
Operation = APIOperation[Any, Any, Any, Any]
MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)


@pytest.fixture(scope="module")
def served(sqlite_template: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ServiceHarness]]:
    """A filled service on loopback; one for the whole module."""
    folder = tmp_path_factory.mktemp("described")
    place = f"sqlite:///{folder / 'copy.db'}"
    with served_harness(place, folder, webhooks_allow_private=True, **SETTINGS) as served:
        yield served


@pytest.fixture(scope="module")
def address(served: tuple[str, ServiceHarness]) -> str:
    """Where it is served."""
    return served[0]


def _asks_for_something(case: AnyCase) -> bool:
    """Whether a search or a list has a query or a filter, which a description of parameters cannot demand."""
    query = case.query or {}
    if case.operation.label == "GET /v1/certificates":
        filters = [value for name, value in query.items() if name not in ("limit", "after")]
        return any(str(value).strip() for value in filters if value != [])
    return case.operation.label != "GET /v1/search" or bool(
        str(query.get("q", "")).strip() or any(value for name, value in query.items() if name in set(Facet))
    )


@pytest.fixture(scope="module")
def operations(address: str) -> Mapping[str, Operation]:
    """The operations of the description."""
    schema = schemathesis.openapi.from_url(f"{address}/openapi.json")
    routes = [each.ok() for each in schema.get_all_operations()]  # type: ignore[union-attr]
    return {each.label: each for each in routes if each.path != "/mcp"}  # tests/mcp try any JSON there


@pytest.fixture
def sent(label: str, address: str) -> dict[str, str]:
    """The credential that an operation takes, of an account that nothing else uses: some of them end it."""
    if label in OPEN:
        return {}
    fields = {"email": f"owner@{secrets.token_hex(8)}.example", "password": secrets.token_hex(8)}
    opened = httpx2.post(f"{address}/v1/trial", json=fields).json()
    return auth_headers(opened["session"] if label in BY_SESSION else opened["api_key"])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("label", OPERATIONS)
def test_every_answer_is_as_described(
    label: str,
    mode: GenerationMode,
    address: str,
    operations: Mapping[str, Operation],
    sent: dict[str, str],
    is_nightly: bool,
) -> None:
    assert set(operations) == set(OPERATIONS), "each operation has its line above"
    if label in NOTHING_CAN_BE_WRONG and mode is GenerationMode.NEGATIVE:
        return

    excluded = [positive_data_acceptance] if label in REFUSES_MORE else []
    excluded += [negative_data_rejection] if label in TAKES_ANY_BODY else []

    @settings(
        max_examples=40 if is_nightly else 3,
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
        case.call_and_validate(base_url=address, headers=sent, excluded_checks=excluded)

    answered()


def test_answers_about_an_account_that_has_everything_are_as_described(
    served: tuple[str, ServiceHarness], operations: Mapping[str, Operation]
) -> None:
    address, harness = served
    device = harness.unique_devices(1)[0]
    opened = httpx2.post(f"{address}/v1/trial", json={"email": "all@acme.example", "password": "all of it"}).json()

    def asked(label: str, sent: dict[str, Any], ids: dict[str, Any], status: int = 200) -> Any:
        """The response, which is as described and no refusal."""
        case = operations[label].Case(path_parameters=ids, **sent)
        response = case.call_and_validate(base_url=address, headers=auth_headers(opened["api_key"]))
        assert response.status_code == status, (label, response.text)
        return response

    def ask(label: str, body: object = None, **ids: object) -> dict[str, Any]:
        """The answer."""
        sent = {} if body is None else {"body": body, "media_type": "application/json"}
        answer: dict[str, Any] = asked(label, sent, ids).json()
        return answer

    watch = ask("POST /v1/watches", {"subject": device.primary_di})["watch"]
    ask("PATCH /v1/watches/{id}", {"label": "Ward 3"}, id=watch["id"])
    assert ask("POST /v1/import", {"csv": "udi\n04099999999992\n..."})["errors"]
    for keep in (True, False):
        file = {"body": f"A;GTIN\n1;{device.primary_di}\n2;odd\n", "media_type": "text/csv"}
        sent = asked("POST /v1/lists", {**file, "query": {"name": "Stock", "keep": keep}}, {}, 202).json()
        of_upload = {"id": sent["list_id"], "upload_id": sent["upload_id"]}
        while ask("GET /v1/lists/{id}/uploads/{upload_id}", **of_upload)["upload"]["state"] in ("waiting", "working"):
            pass  # in the background, on another thread
    assert ask("GET /v1/lists/{id}/uploads/{upload_id}", **of_upload)["differences"]["same"] == 2
    assert ask("POST /v1/lists/{id}/uploads/{upload_id}/keep", {}, **of_upload)["list"]["coverage"]["lines"] == 2
    assert ask("POST /v1/lists/{id}/watch", {}, id=of_upload["id"])["watched"] == 1
    assert len(ask("GET /v1/lists/{id}/lines", id=of_upload["id"])["lines"]) == 2
    for kind in ("csv", "xlsx"):
        assert len(asked(f"GET /v1/lists/{{id}}/lines.{kind}", {}, {"id": of_upload["id"]}).content) > 100
    ask("PATCH /v1/lists/{id}", {"name": "Ward 3"}, id=of_upload["id"])
    webhook = ask("POST /v1/webhook", {"url": "http://127.0.0.1:9/"})["webhooks"][0]["id"]
    ask("POST /v1/webhooks", {"url": "http://127.0.0.1:9/"})
    ask("POST /v1/feeds", {})
    harness.world.change(device.uuid, reference="NEW-1")
    assert ask("POST /v1/sync", {})["events"]
    delivery = ask("POST /v1/webhooks/{id}/test", {}, id=webhook)["delivery"]
    ask("POST /v1/webhook/test", {})
    ask("POST /v1/webhooks/{id}/deliveries/{delivery}/resend", {}, id=webhook, delivery=delivery)
    ask("POST /v1/webhooks/{id}/rotate", {}, id=webhook)
    assert ask("GET /v1/webhooks/{id}/deliveries", id=webhook)["deliveries"]
    channel = ask("POST /v1/channels", {"channel": "webhook", "url": "http://127.0.0.1:9/"})["channel"]["id"]
    ask("PATCH /v1/channels/{id}", {"choice": {"frequency": "weekly"}, "paused": True}, id=channel)
    ask("POST /v1/channels/{id}/test", {}, id=channel)
    ask("GET /v1/channels/{id}", id=channel)
    assert ask("GET /v1/channels/{id}/deliveries", id=channel)["deliveries"]
    for what in ("watches", "events", "lists", "webhooks", "channels", "feeds"):
        assert ask(f"GET /v1/{what}")[what]
    session = ask("POST /v1/billing/checkout", {"plan": "operator"})["session_id"]
    harness.provider.pay(session)
    assert ask("POST /v1/billing/confirm", {"session_id": session})["subscription"]
    for what in ("cancel", "resume", "portal"):
        ask(f"POST /v1/billing/{what}", {})
    assert "webhook_last_error" in ask("GET /v1/me")


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
            assert operation.get("description"), path
            assert "422" not in operation["responses"], f"{method} {path}: invalid input is 400"
            for parameter in operation.get("parameters", []):
                assert "$ref" in parameter or parameter.get("description"), f"{path} {parameter}"


def test_credentials_are_described_as_they_are_sent(address: str) -> None:
    description = httpx2.get(f"{address}/openapi.json").json()

    schemes = description["components"]["securitySchemes"]
    assert {
        name: {key: about.get(key) for key in ("type", "in", "name", "scheme")} for name, about in schemes.items()
    } == {
        "ApiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key", "scheme": None},
        "Bearer": {"type": "http", "in": None, "name": None, "scheme": "bearer"},
    }
    assert all(about["description"] for about in schemes.values())
    for label in (*BY_KEY, *BY_SESSION):
        method, _, path = label.partition(" ")
        operation = description["paths"][path][method.lower()]
        optional: list[dict[str, list[str]]] = [{}] if label == "POST /v1/logout" else []
        assert operation["security"] == [{"ApiKey": []}, {"Bearer": []}, *optional], label
        assert optional or "401" in operation["responses"], label
        assert not [each for each in operation.get("parameters", []) if each.get("in") == "header"], label


def test_every_post_is_described_with_the_body_that_it_needs(address: str) -> None:
    for path, methods in httpx2.get(f"{address}/openapi.json").json()["paths"].items():
        if "post" in methods:
            assert methods["post"]["requestBody"]["required"] is True, f"{path}: a POST without a body is 403"
            kinds = KINDS_OF_BODIES.get(path, ["application/json"])
            assert list(methods["post"]["requestBody"]["content"]) == kinds, path


def test_who_has_the_description_is_not_sent_it_again(address: str) -> None:
    first = httpx2.get(f"{address}/openapi.json")
    again = httpx2.get(f"{address}/openapi.json", headers={"If-None-Match": first.headers["etag"]})

    assert (first.status_code, first.headers["content-type"]) == (200, "application/json")
    assert (again.status_code, again.content) == (304, b"")


def test_nothing_in_the_description_is_a_usable_secret(address: str) -> None:
    text = httpx2.get(f"{address}/openapi.json").text
    description = json.loads(text)

    assert not re.findall(r"(?:rw|us|whsec|whd)_[A-Za-z0-9_-]{8,}", text)
    assert not re.findall(r"[A-Za-z0-9_-]{40,}", re.sub(r'"operationId": ?"[^"]*"', "", text))
    for name, model in description["components"]["schemas"].items():
        for field, about in model.get("properties", {}).items():
            if "password" in field or field == "token":
                assert not {"examples", "example", "default"} & set(about), f"{name}.{field}"
            if "password" in field:
                assert (about["format"], about["writeOnly"]) == ("password", True), f"{name}.{field}"


def test_every_field_has_an_example_that_is_valid(address: str) -> None:
    description = httpx2.get(f"{address}/openapi.json").json()

    schemas = description["components"]["schemas"]
    for name, model in schemas.items():
        for field, about in model.get("properties", {}).items():
            if "$ref" in json.dumps(about) or "password" in field or field == "token":
                continue  # its examples are those of the other schema; a secret has none
            assert about.get("examples"), f"{name}.{field}"
            for example in about["examples"]:
                jsonschema_rs.validate(about, example, validate_formats=True)
                if re.fullmatch(r"\d{4}-\d\d-\d\dT.*Z", str(example)):
                    assert '"date-time"' in json.dumps(about), f"{name}.{field}"


def test_operations_are_named_for_generated_clients(address: str) -> None:
    description = httpx2.get(f"{address}/openapi.json").json()

    named = [each["operationId"] for methods in description["paths"].values() for each in methods.values()]
    assert len(named) == len(set(named))
    assert all(re.fullmatch("[a-z]+(_[a-z]+){0,3}", each) for each in named), named
