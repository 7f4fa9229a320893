"""Reading the operations of `/openapi.json`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from registerwatch.pages.documentation.curl import PLACEHOLDER, curl_line, path_with
from registerwatch.pages.documentation.models import Answer, Body, DescribedObject, Group, Operation, Parameter
from registerwatch.pages.documentation.schemas import Schema, Schemas, TypeName

METHODS = ("get", "post", "put", "patch", "delete")
SENT_TO_YOU = "your address"
"""The path of requests that the service sends."""
ANYBODY = "Anybody; no key is needed."
WHO_HAS_THE_FEED = "Whoever has the token of a feed; no key is needed."
SIGNED = "Whoever signs the request; no key is needed."
ANYBODY_OR_KEY = "Anybody; a key or session that is sent is used."
NEEDS_PERIOD = "The account’s period must not have ended."
JSON = "application/json"
ERROR = "ErrorBody"
"""The name of the object of every error."""


def groups_of(description: Schema, public_url: str) -> list[Group]:
    """All operations in the order of the description; requests that the service sends come last."""
    reader = _Reader(description, public_url)
    asked = [
        (operation["tags"][0], operation, reader.operation(path, method, operation, item.get("parameters", ())))
        for path, item in description["paths"].items()
        for method, operation in item.items()
        if method in METHODS
    ]
    sent = [
        (item["post"]["tags"][0], item["post"], reader.sent(name, item["post"]))
        for name, item in description.get("webhooks", {}).items()
    ]
    tags = dict.fromkeys(tag for tag, *_ in (*asked, *sent))
    return [
        Group(
            tag,
            [operation for of, _, operation in (*asked, *sent) if of == tag],
            reader.objects([raw for of, raw, _ in (*asked, *sent) if of == tag]),
        )
        for tag in tags
    ]


class _Reader:
    """Reads one description."""

    def __init__(self, description: Schema, public_url: str) -> None:
        self._schemas = Schemas(description)
        self._parameters: Schema = description["components"].get("parameters", {})
        self._public_url = public_url

    def operation(self, path: str, method: str, raw: Schema, of_path: Sequence[Schema]) -> Operation:
        """An operation of the service."""
        parameters = [self._resolved_parameter(each) for each in (*of_path, *raw.get("parameters", ()))]
        return Operation(
            id=raw["operationId"],
            tag=raw["tags"][0],
            method=method.upper(),
            path=path,
            summary=raw["summary"],
            text=raw.get("description", ""),
            access=access_of(raw),
            parameters=self._read_parameters(parameters),
            bodies=self._bodies(raw),
            answers=self._answers(raw),
            curl="\n".join(self._curl_lines(path, method, raw, parameters)),
            example=self._example(raw),
            sent_body="",
        )

    def sent(self, name: str, raw: Schema) -> Operation:
        """A request that the service itself sends."""
        return Operation(
            id=raw["operationId"],
            tag=raw["tags"][0],
            method="POST",
            path=SENT_TO_YOU,
            summary=f"{name}: {raw['summary']}".replace("`", ""),
            text=raw.get("description", ""),
            access="",
            parameters=self._read_parameters(raw.get("parameters", ())),
            bodies=self._bodies(raw),
            answers=self._answers(raw),
            curl="",
            example="",
            sent_body=_indented(raw["requestBody"]["content"][JSON]["example"]),
        )

    def objects(self, raw: Sequence[Schema]) -> list[DescribedObject]:
        """The objects in answers and in the fields of request bodies, without errors, which are all alike."""
        answered = [each["responses"] for each in raw]
        taken = [self._taken(each) for each in raw]
        found = []
        for name in self._schemas.objects_of({"answers": answered, "fields": taken}):
            if name == ERROR:
                continue
            schema = self._schemas.named(name)
            found.append(DescribedObject(name, schema.get("description", ""), self._schemas.fields(schema)))
        return found

    def _taken(self, raw: Schema) -> list[Schema]:
        """The fields of request bodies."""
        content = raw.get("requestBody", {}).get("content", {})
        return [self._schemas.resolved(about["schema"]).get("properties", {}) for about in content.values()]

    def _resolved_parameter(self, raw: Schema) -> Schema:
        if "$ref" not in raw:
            return raw
        resolved: Schema = self._parameters[raw["$ref"].rpartition("/")[2]]
        return resolved

    def _read_parameters(self, parameters: Sequence[Schema]) -> list[Parameter]:
        return [
            Parameter(
                self._schemas.field(
                    raw["name"],
                    _without_null(raw["schema"]),
                    required=raw.get("required", False),
                    text=raw.get("description", ""),
                    example=raw.get("example"),
                ),
                raw["in"],
            )
            for raw in parameters
        ]

    def _bodies(self, raw: Schema) -> list[Body]:
        content = raw.get("requestBody", {}).get("content", {})
        return [
            Body(media_type, about["schema"].get("description", ""), self._schemas.fields(about["schema"]))
            for media_type, about in content.items()
        ]

    def _answers(self, raw: Schema) -> list[Answer]:
        """Answers by status, `default` last."""
        return [
            Answer(status, about["description"], *self._answer_type(about))
            for status, about in sorted(raw["responses"].items())
        ]

    def _answer_type(self, about: Schema) -> tuple[TypeName | None, str]:
        content = about.get("content") or {}
        if JSON in content:
            return self._schemas.type_name(content[JSON]["schema"]), JSON
        return None, next(iter(content), "")

    def _example(self, raw: Schema) -> str:
        content = raw["responses"].get("200", {}).get("content") or {}
        return _indented(self._schemas.example(content[JSON]["schema"])) if JSON in content else ""

    def _curl_lines(self, path: str, method: str, raw: Schema, parameters: Sequence[Schema]) -> Iterator[str]:
        filled = path_with(path, {each["name"]: _example_of(each) for each in parameters if each["in"] == "path"})
        address, query = self._public_url + filled, _example_query(raw, parameters)
        options: dict[str, Any] = {"needs_key": _needs_key(raw)}
        content: Schema = raw.get("requestBody", {}).get("content", {})
        for media_type, about in content.items():
            body = about.get("example", self._schemas.example(about["schema"]))
            yield curl_line(method.upper(), address, query, body=body, media_type=media_type, **options)
        if not content:
            yield curl_line(method.upper(), address, query, **options)


def access_of(raw: Schema) -> str:
    """Who may call an operation, in sentences."""
    security = raw.get("security")
    if not security:
        names = {each.get("name", "") for each in raw.get("parameters", ())}
        if "token" in names:
            return WHO_HAS_THE_FEED
        return SIGNED if any(name.endswith("Signature") for name in names) else ANYBODY
    if {} in security:
        return ANYBODY_OR_KEY
    access = raw.get("x-access", {"scope": "manage", "owners_only": False})
    key = {
        "read": "An API key of any scope",
        "watch": "An API key with the scope `watch` or `manage`",
        "manage": "An API key with the scope `manage`",
    }[access["scope"]]
    session = "the session of an owner" if access["owners_only"] else "a session"
    return f"{key}, or {session}.{f' {NEEDS_PERIOD}' if '402' in raw['responses'] else ''}"


def _without_null(schema: Schema) -> Schema:
    """A parameter's schema without `null`: a missing parameter stands for that."""
    others = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    return {**schema, **others[0], "anyOf": []} if len(others) == 1 else schema


def _needs_key(raw: Schema) -> bool:
    return bool(raw.get("security")) and {} not in raw["security"]


def _example_query(raw: Schema, parameters: Sequence[Schema]) -> Mapping[str, str]:
    """The required parameters; for a public operation without any, those that have an example."""
    in_query = [each for each in parameters if each["in"] == "query"]
    chosen = [each for each in in_query if each.get("required")]
    if not chosen and len(in_query) == len(parameters) and not raw.get("security"):
        chosen = [each for each in in_query if _example_of(each) != PLACEHOLDER]
    return {each["name"]: _example_of(each) for each in chosen}


def _example_of(parameter: Schema) -> str:
    examples = parameter["schema"].get("examples") or [parameter.get("example", PLACEHOLDER)]
    return str(examples[0])


def _indented(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
