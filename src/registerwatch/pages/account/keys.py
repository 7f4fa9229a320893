"""The page of API keys: the list, making one, revoking one."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.accounts.models import Key, NewKey, Scope
from registerwatch.bootstrap import Service
from registerwatch.errors import CapReached, InvalidInput
from registerwatch.pages.account.days import day_of, end_of
from registerwatch.pages.account.proof import require_proof
from registerwatch.pages.account.questions import ask_once, not_there
from registerwatch.pages.account.rendering import app_page, redirect_to
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.row_ids import RowId
from registerwatch.pages.account.sent_once import SentBefore, new_form_token, sent_once
from registerwatch.pages.account.visitor import OwnerSignedIn, SignedIn, Visitor
from registerwatch.pages.forms import Form, form_of
from registerwatch.web.injection import InjectedService, limits_of, service_of
from registerwatch.web.limits.rate_limits import Limit
from registerwatch.web.parties import party_of

SCOPES = (
    (Scope.READ, "Read", "what is watched, what changed, which certificates end"),
    (Scope.WATCH, "Read and watch", "that, and add, rename and remove watches, sync, import"),
    (Scope.MANAGE, "Everything", "that, and people, keys, webhooks, feeds, billing, passwords, the end of the account"),
)
"""Scopes with explanations."""
DONE = {"revoked": "The key is revoked. It does not work any more."}
SENT_BEFORE = (
    "This form was sent before, and made a key then. A key is shown once: where you did not keep it, revoke it and make"
    " another one."
)
IS_PAST = "This day is over. Choose today or a later day, or leave it empty."
CHOOSE_SCOPE = "Choose what the key may do."
NO_KEY = "There is no such key"

router = account_pages()


@router.get("/app/keys")
async def keys(request: Request, visitor: SignedIn) -> Response:
    """The account's keys, and for owners the form for a new one."""
    return await _keys_page(request, visitor)


@router.post("/app/keys")
async def make(request: Request, service: InjectedService, visitor: OwnerSignedIn) -> Response:
    """Make a key. The answer is the only page that shows it."""
    form = await form_of(request)
    await require_proof(request, visitor, form, "Make an API key")
    await limits_of(request).check_party(request, Limit.ACCOUNT_CHANGES, party_of(visitor.caller))
    problems, ends = {}, None
    try:
        ends = end_of_day(form["ends"], visitor.zone, service.clock.now())
    except InvalidInput as error:
        problems["ends"] = str(error)
    if form["scope"] not in list(Scope):
        problems["scope"] = CHOOSE_SCOPE
    if problems:
        return await _keys_page(request, visitor, 400, form=form, problems=problems)
    try:
        async with sent_once(service, visitor, form):
            made = await service.accounts.api_keys.create(
                visitor.caller, form["label"], scope=Scope(form["scope"]), expires_at=ends
            )
    except SentBefore:
        return await _keys_page(request, visitor, 409, problems={"form": SENT_BEFORE})
    except (InvalidInput, CapReached) as error:
        return await _keys_page(request, visitor, 400, form=form, problems={"form": str(error)})
    return await _keys_page(request, visitor, made=made)


@router.get("/app/keys/{key_id:int}/revoke")
async def revoke_question(
    request: Request, service: InjectedService, visitor: OwnerSignedIn, key_id: RowId
) -> Response:
    """Ask before revoking a key."""
    key = await _key(service, visitor, key_id)
    if key is None:
        return not_there(request, visitor, "keys", NO_KEY, "/app/keys", "All API keys")
    return ask_once(
        request,
        visitor,
        "keys",
        heading=f"Revoke the API key {key.prefix}?",
        about=key.label,
        consequences=(
            "Programs that use this key get the answer 401 from now on.",
            "It cannot be undone. A new key has to be given to each of these programs.",
            "Watches, webhooks, feeds and signed-in people are not affected.",
        ),
        button="Revoke the key",
        back="/app/keys",
    )


@router.post("/app/keys/{key_id:int}/revoke")
async def revoke(request: Request, service: InjectedService, visitor: OwnerSignedIn, key_id: RowId) -> Response:
    """Revoke a key."""
    await require_proof(request, visitor, await form_of(request), "Revoke an API key")
    try:
        await service.accounts.api_keys.revoke(visitor.caller, key_id)
    except InvalidInput:
        return not_there(request, visitor, "keys", NO_KEY, "/app/keys", "All API keys")
    return redirect_to("/app/keys", done="revoked")


def end_of_day(text: str, zone: ZoneInfo, now: float) -> int | None:
    """The end of a day in a zone, in unix seconds; None for an empty text. Raises `InvalidInput`."""
    end = end_of(day_of(text.strip()), zone)
    if end is not None and end <= now:
        raise InvalidInput(IS_PAST)
    return end


async def _key(service: Service, visitor: Visitor, key_id: int) -> Key | None:
    keys = (await service.accounts.members.profile(visitor.caller)).keys
    return next((key for key in keys if key.id == key_id), None)


async def _keys_page(
    request: Request,
    visitor: Visitor,
    status: int = 200,
    *,
    form: Form | None = None,
    problems: dict[str, str] | None = None,
    made: NewKey | None = None,
) -> Response:
    service = service_of(request)
    present, now = (await service.accounts.members.profile(visitor.caller)).keys, service.clock.now()
    working = [key for key in present if key.works(now)]
    typed: dict[str, Any] = {name: form[name] if form else "" for name in ("label", "scope", "ends")}
    return app_page(
        request,
        visitor,
        "account/keys.html",
        section="keys",
        status=status,
        done=DONE,
        working=working[::-1],
        ended=[key for key in present if not key.works(now)][::-1],
        cap=visitor.caller.account.plan.keys,
        scopes=SCOPES,
        scope_words={scope: words for scope, words, _ in SCOPES},
        typed=typed,
        problems=problems or {},
        made=made,
        form_token=new_form_token(),
        today=datetime.fromtimestamp(now, visitor.zone).date().isoformat(),
        zone_name=visitor.caller.time_zone,
        public_url=service.settings.public_url,
    )
