"""How `/openapi.json` tells who may call an operation: `x-access`, beside the standard's `security`.

`scope` is the least scope of a key that is enough, `owners_only` whether a member's session is not.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from registerwatch.rest.routing.auth import KeyOrSession, require_owner_or_key

EXTENSION = "x-access"


def describe_access(description: dict[str, Any], routes: Iterable[BaseRoute]) -> None:
    """Add to every operation of a route that needs a credential what it needs of it."""
    for route in routes:
        if not isinstance(route, APIRoute) or not route.include_in_schema:
            continue
        calls = list(_calls_of(route.dependant))
        scopes = [call.scope for call in calls if isinstance(call, KeyOrSession)]
        for method in (route.methods or ()) if scopes else ():
            operation = description["paths"][route.path_format][method.lower()]
            operation[EXTENSION] = {"scope": scopes[0].value, "owners_only": require_owner_or_key in calls}


def _calls_of(dependant: Dependant) -> Iterator[Callable[..., object] | None]:
    for each in dependant.dependencies:
        yield each.call
        yield from _calls_of(each)
