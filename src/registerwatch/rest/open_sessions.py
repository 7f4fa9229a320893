"""Sessions over REST: listing open ones, and ending them."""

from typing import Annotated

from fastapi import Path
from starlette.responses import Response

from registerwatch.accounts.sessions.open_sessions import OpenSession
from registerwatch.platform.clock import iso_utc
from registerwatch.rest.answers.account_answers import EXAMPLE_EMAIL
from registerwatch.rest.openapi.description import FORBIDDEN, answer
from registerwatch.rest.routing.auth import Manager
from registerwatch.rest.routing.routers import account_router
from registerwatch.web.answers.answers import Answer, Done, doc, instant, iso_or_none
from registerwatch.web.injection import InjectedService
from registerwatch.web.responses import private_response

EXAMPLE_ID = "ses_0b9f1f0e5c5f4d7e9a392f6a"

router = account_router("account", FORBIDDEN)


class SessionObject(Answer):
    """An open session."""

    id: Annotated[str, doc("For `DELETE /v1/sessions/{id}`; not what signs in.", EXAMPLE_ID)]
    email: Annotated[str, doc("E-mail address of its user.", EXAMPLE_EMAIL)]
    created_at: Annotated[str, instant("When somebody signed in, UTC.")]
    last_used_at: Annotated[str | None, instant("Last use, to about ten minutes, UTC; null before the first.")]
    expires_at: Annotated[str, instant("Its end, 14 days after the sign-in, UTC.")]
    current: Annotated[bool, doc("Whether it is the one that asks.")]

    @classmethod
    def of(cls, session: OpenSession) -> "SessionObject":
        """A session as it is listed."""
        return cls(
            id=session.id,
            email=session.email,
            created_at=iso_utc(session.created_at),
            last_used_at=iso_or_none(session.last_used_at),
            expires_at=iso_utc(session.expires_at),
            current=session.is_current,
        )


class SessionList(Answer):
    """Sessions that are open."""

    sessions: Annotated[list[SessionObject], doc("The newest first.")]


@router.get("/v1/sessions", summary="Sessions that are open", responses=answer(SessionList))
async def list_sessions(service: InjectedService, caller: Manager) -> Response:
    """A session lists those of its user, an API key those of all users. The audit trail says from which address each
    sign-in came.
    """
    found = await service.accounts.open_sessions.all(caller)
    return private_response(SessionList([SessionObject.of(each) for each in found]))


@router.delete("/v1/sessions", summary="End all other sessions", responses=answer(Done))
async def end_other_sessions(service: InjectedService, caller: Manager) -> Response:
    """Those that the list shows, but for the one that asks. Keys stay as they are."""
    await service.accounts.open_sessions.end_others(caller)
    return private_response(Done())


@router.delete("/v1/sessions/{id}", summary="End a session", responses=answer(Done))
async def end_session(
    id: Annotated[str, Path(description="Id of the session.", examples=[EXAMPLE_ID])],  # noqa: A002  # as elsewhere
    service: InjectedService,
    caller: Manager,
) -> Response:
    """Always `{"ok": true}`; only one that the list shows is ended."""
    await service.accounts.open_sessions.end(caller, id)
    return private_response(Done())
