"""Forms that make something only once, even if a double click or a reload sends them again."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from registerwatch.accounts.limits.idempotency import Answered, IdempotentRequest, RequestQuota, digest_of_parts
from registerwatch.bootstrap import Service
from registerwatch.errors import IdempotencyConflict, InvalidInput
from registerwatch.pages.account.visitor import Visitor
from registerwatch.pages.forms import Form

FIELD = "form"
"""The hidden field with the form's own token."""
MAX_TOKEN_LENGTH = 100
NO_TOKEN = "This form is incomplete. Reload the page and fill it in again."  # noqa: S105  # a message


class SentBefore(Exception):
    """The form was sent and carried out before."""


def new_form_token() -> str:
    """A token for a form that is shown now."""
    return secrets.token_urlsafe(18)


@asynccontextmanager
async def sent_once(service: Service, visitor: Visitor, form: Form) -> AsyncIterator[None]:
    """A context for the work of a form, entered once for each form; an error inside lets it be sent again.

    Raises `SentBefore`, `InvalidInput` for a form without a token.
    """
    token, store = form[FIELD], service.accounts.idempotency
    if not token or len(token) > MAX_TOKEN_LENGTH:
        raise InvalidInput(NO_TOKEN)
    session = visitor.caller.session or ""
    digest = digest_of_parts(b"form", session.encode(), token.encode())
    quota = RequestQuota.of(visitor.caller, form=True)
    request = IdempotentRequest(visitor.caller.account.id, digest, "form", quota)
    try:
        await store.begin(request)
    except IdempotencyConflict:
        raise SentBefore from None
    try:
        yield
    except BaseException:
        await store.end(request, None)
        raise
    await store.end(request, Answered(200, ""), is_kept=False)
