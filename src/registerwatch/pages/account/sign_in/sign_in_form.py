"""The form for signing in, which keeps a form that was sent without a session."""

from collections.abc import Sequence

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from registerwatch.errors import InvalidInput
from registerwatch.pages.account.next_page import HOME, safe_address
from registerwatch.pages.cookies import can_sign_in
from registerwatch.pages.forms import FORM_WITH_FILES, Form, form_of
from registerwatch.pages.rendering import unindexed_page
from registerwatch.register.identifiers import subject
from registerwatch.web.injection import service_of
from registerwatch.web.limits.body_limits import MAX_BODY_BYTES, declared_length

KEPT_PREFIX = "kept:"
"""The prefix of hidden fields that hold a kept form."""
KEPT_FOR = "kept-for"
"""The field with the address of the kept form."""
NEVER_KEPT = frozenset({"password", "old-password", "proof-password", "proof-code", "url"})
"""Fields whose values no page may hold: the browser's next user could read hidden ones. `url` is the address of a
channel or webhook, which can be a secret.
"""
SESSION_ENDED = "Your session has ended. Sign in again; nothing that you typed is lost."
SECRETS_LOST = (
    "Your session has ended. Sign in again; what you typed is kept, but for passwords and addresses of channels."
)
FILE_LOST = "Your session has ended. Sign in again, then choose the file once more: a browser sends it again only so."
TOO_LARGE_TO_KEEP = "Your session has ended. Sign in again, then send the form once more: it is too large to be kept."


class KeptForm(msgspec.Struct, frozen=True):
    """A form that waits until its sender has signed in. Empty if there is none."""

    address: str = ""
    fields: Sequence[tuple[str, str]] = ()

    @classmethod
    def of(cls, form: Form) -> "KeptForm":
        """The kept form in the hidden fields of a form."""
        kept = [(name.removeprefix(KEPT_PREFIX), value) for name, value in form.fields if name.startswith(KEPT_PREFIX)]
        return cls(safe_address(form[KEPT_FOR]), kept)

    @property
    def hidden_fields(self) -> list[tuple[str, str]]:
        """The hidden fields that hold it."""
        if not self.address:
            return []
        return [(KEPT_FOR, self.address), *((KEPT_PREFIX + name, value) for name, value in self.fields)]


class Destination(msgspec.Struct, frozen=True):
    """What follows signing in: a kept form, a subject to watch, a page."""

    kept: KeptForm = KeptForm()
    watch: str = ""
    next: str = ""

    @classmethod
    def of(cls, form: Form) -> "Destination":
        """Read it from a form."""
        return cls(KeptForm.of(form), _subject(form["watch"]), safe_address(form["next"]))

    @classmethod
    def of_query(cls, request: Request) -> "Destination":
        """The destination in a query."""
        query = request.query_params
        return cls(watch=_subject(query.get("watch", "")), next=safe_address(query.get("next", "")))

    @property
    def address(self) -> str:
        """The next page."""
        return self.next or HOME

    @property
    def hidden_fields(self) -> list[tuple[str, str]]:
        """The hidden fields that hold it."""
        given = [("watch", self.watch), ("next", self.next)]
        return [(name, value) for name, value in given if value] + self.kept.hidden_fields

    @property
    def query(self) -> dict[str, str]:
        """The query for a link, without the kept form."""
        return {name: value for name, value in (("watch", self.watch), ("next", self.next)) if value}


def sign_in_page(
    request: Request, destination: Destination, status: int = 200, *, email: str = "", problem: str = "", note: str = ""
) -> Response:
    """The form for signing in."""
    service = service_of(request)
    return unindexed_page(
        request,
        "account/login.html",
        status,
        destination=destination,
        email=email,
        problem=problem,
        note=note,
        can_sign_in=can_sign_in(service.settings),
        has_passkeys=service.accounts.passkeys.is_possible,
        provider=service.accounts.provider.name,
    )


async def kept_form_page(request: Request) -> Response:
    """The form for signing in, which keeps a form that was sent without a session.

    Bodies larger than usual forms are not received without a session.
    """
    if declared_length(request.scope) > MAX_BODY_BYTES or "transfer-encoding" in request.headers:
        return sign_in_page(request, Destination(next=safe_address(request.url.path)), 401, note=TOO_LARGE_TO_KEEP)
    form = await form_of(request)
    is_upload = request.headers.get("content-type", "").lower().startswith(FORM_WITH_FILES)
    if is_upload and form.files:
        return sign_in_page(request, Destination(next=safe_address(request.url.path)), 401, note=FILE_LOST)
    fields = [(name, value) for name, value in form.fields if name not in NEVER_KEPT]
    note = SESSION_ENDED if len(fields) == len(form.fields) else SECRETS_LOST
    return sign_in_page(request, Destination(KeptForm(safe_address(_address(request)), fields)), 401, note=note)


def _subject(text: str) -> str:
    """The subject to watch; empty if it cannot be watched."""
    try:
        return subject(text)
    except InvalidInput:
        return ""


def _address(request: Request) -> str:
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")
