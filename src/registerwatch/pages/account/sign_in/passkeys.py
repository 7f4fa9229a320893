"""Passkeys: managing them, and signing in by one. The browser's part is in static/passkeys.js."""

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.accounts.validation import MAX_LABEL_LENGTH
from registerwatch.bootstrap import Service
from registerwatch.errors import InvalidInput, WrongCode
from registerwatch.pages.account.proof import require_proof
from registerwatch.pages.account.rendering import app_page, redirect_to
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.settings import ADDRESS, DONE
from registerwatch.pages.account.sign_in.second_factors import recovery_codes_page
from registerwatch.pages.account.sign_in.second_step_form import COOKIE, step_of
from registerwatch.pages.account.sign_in.sign_in import signed_in_response
from registerwatch.pages.account.sign_in.sign_in_form import Destination, sign_in_page
from registerwatch.pages.account.visitor import SignedIn, Visitor
from registerwatch.pages.cookies import drop_cookie
from registerwatch.pages.forms import Form, form_of
from registerwatch.platform.db.row_pages import row_id_of
from registerwatch.web.injection import InjectedService, client_of, limits_of
from registerwatch.web.limits.rate_limits import Limit
from registerwatch.web.responses import NOT_CACHED

PASSKEYS = f"{ADDRESS}/passkeys"

router = account_pages()


@router.get("/app/settings/passkeys")
async def passkeys(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """The user's passkeys, and the form for another one."""
    return await _passkeys_page(request, service, visitor)


@router.post("/app/settings/passkeys/new")
async def begin(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """The page on which the browser makes a passkey."""
    form = await form_of(request)
    await require_proof(request, visitor, form, "Add a passkey")
    await limits_of(request).check_party(request, Limit.ACCOUNT_CHANGES, f"settings {visitor.caller.session}")
    try:
        options = await service.accounts.passkeys.registration_options(visitor.caller)
    except InvalidInput as error:
        return await _passkeys_page(request, service, visitor, 400, problem=str(error))
    label = form["label"][:MAX_LABEL_LENGTH]
    return app_page(request, visitor, "account/passkey_new.html", section="settings", options=options, label=label)


@router.post("/app/settings/passkeys")
async def add(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """Store the passkey that the browser made."""
    form = await form_of(request)
    try:
        codes = await service.accounts.passkeys.add(visitor.caller, form["label"], form["credential"])
    except (InvalidInput, WrongCode) as error:
        return await _passkeys_page(request, service, visitor, 400, problem=str(error))
    if codes:
        return recovery_codes_page(request, visitor, codes, "The passkey is added")
    return redirect_to(PASSKEYS, done="passkey-added")


@router.post("/app/settings/passkeys/rename")
async def rename(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """Give a passkey another name."""
    form = await form_of(request)
    await service.accounts.passkeys.rename(visitor.caller, _id_in(form), form["label"])
    return redirect_to(PASSKEYS, done="passkey-renamed")


@router.post("/app/settings/passkeys/remove")
async def remove(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """Remove a passkey, after a confirmation."""
    form = await form_of(request)
    if not form["sure"]:
        factors = await service.accounts.second_factors.of(visitor.caller)
        found = [each for each in await service.accounts.passkeys.all(visitor.caller) if each.id == _id_in(form)]
        if not found:
            return redirect_to(PASSKEYS)
        return app_page(
            request, visitor, "account/passkey_remove.html", section="settings", passkey=found[0], factors=factors
        )
    await require_proof(request, visitor, form, "Remove a passkey")
    await service.accounts.passkeys.remove(visitor.caller, _id_in(form))
    return redirect_to(PASSKEYS, done="passkey-removed")


@router.post("/login/passkey/options")
async def sign_in_options(request: Request, service: InjectedService) -> Response:
    """The options for a passkey request in the browser, as JSON for the script."""
    await limits_of(request).check(request, Limit.SECOND_STEP)
    options = await service.accounts.passkeys.sign_in_options(step_of(request))
    return Response(options, media_type="application/json", headers={"Cache-Control": NOT_CACHED})


@router.post("/login/passkey")
async def sign_in_by_passkey(request: Request, service: InjectedService) -> Response:
    """Open a session by a passkey, which replaces the password too."""
    await limits_of(request).check(request, Limit.SECOND_STEP)
    form = await form_of(request)
    destination = Destination.of(form)
    try:
        opened = await service.accounts.passkeys.sign_in(form["credential"], client_of(request))
    except WrongCode as error:
        return sign_in_page(request, destination, 400, problem=str(error))
    response = await signed_in_response(request, service, opened.session, destination)
    drop_cookie(response, service.settings, COOKIE)
    return response


async def _passkeys_page(
    request: Request, service: Service, visitor: Visitor, status: int = 200, *, problem: str = ""
) -> Response:
    return app_page(
        request,
        visitor,
        "account/passkeys.html",
        section="settings",
        status=status,
        done=DONE,
        passkeys=await service.accounts.passkeys.all(visitor.caller),
        is_possible=service.accounts.passkeys.is_possible,
        longest=MAX_LABEL_LENGTH,
        problem=problem,
    )


def _id_in(form: Form) -> int:
    """The passkey's id in a form; 0, which no passkey has, if it is not an id."""
    return row_id_of(form["id"]) or 0
