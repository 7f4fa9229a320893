"""Authenticator apps and recovery codes: setting up, removing, showing codes once."""

import re
from collections.abc import Sequence

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from registerwatch.bootstrap import Service
from registerwatch.errors import InvalidInput
from registerwatch.pages.account.proof import require_proof
from registerwatch.pages.account.questions import ask_once
from registerwatch.pages.account.rendering import app_page, redirect_to
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.settings import ADDRESS
from registerwatch.pages.account.visitor import SignedIn, Visitor
from registerwatch.pages.forms import form_of
from registerwatch.web.injection import InjectedService, limits_of
from registerwatch.web.limits.rate_limits import Limit
from registerwatch.web.responses import NOT_CACHED

APP_ADDRESS = f"{ADDRESS}/authenticator"
DOWNLOAD = {
    "Content-Disposition": 'attachment; filename="registerwatch-recovery-codes.txt"',
    "Cache-Control": NOT_CACHED,
}
_CODE = re.compile(r"[a-z2-9]{6}(?:-[a-z2-9]{6}){3}")
MAX_CODES = 10

router = account_pages()


@router.post("/app/settings/authenticator")
async def begin(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """Make a secret for an app, which the next page shows."""
    await require_proof(request, visitor, await form_of(request), "Set up an authenticator app")
    await limits_of(request).check_party(request, Limit.ACCOUNT_CHANGES, f"settings {visitor.caller.session}")
    try:
        await service.accounts.second_factors.begin_totp(visitor.caller)
    except InvalidInput:  # another tab has set an app up meanwhile
        return redirect_to(ADDRESS)
    return redirect_to(APP_ADDRESS)


@router.get("/app/settings/authenticator")
async def enrolment(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """The secret as a QR code and as text, and the form for the first code."""
    return await _enrolment_page(request, service, visitor)


@router.post("/app/settings/authenticator/confirm")
async def confirm(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """Turn the app on by its first code, and show the recovery codes."""
    form = await form_of(request)
    await require_proof(request, visitor, form, "Set up an authenticator app")
    await limits_of(request).check_party(request, Limit.PROOF, f"app {visitor.caller.session}")
    try:
        codes = await service.accounts.second_factors.confirm_totp(visitor.caller, form["code"])
    except InvalidInput as error:
        return await _enrolment_page(request, service, visitor, problem=str(error))
    if not codes:
        return redirect_to(ADDRESS, done="app-on")
    return recovery_codes_page(request, visitor, codes, "The authenticator app is set up")


@router.get("/app/settings/authenticator/remove")
async def removal_form(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """What is removed with the app."""
    factors = await service.accounts.second_factors.of(visitor.caller)
    if factors.totp_since is None:
        return redirect_to(ADDRESS)
    if factors.passkeys:
        consequence = "Signing in then asks for your password and a passkey, or a recovery code."
    else:
        consequence = "Your password alone signs you in then, and your recovery codes stop working."
    return ask_once(
        request,
        visitor,
        "settings",
        heading="Remove the authenticator app?",
        consequences=(consequence,),
        button="Remove the app",
        back=ADDRESS,
    )


@router.post("/app/settings/authenticator/remove")
async def remove(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """Remove the app."""
    await require_proof(request, visitor, await form_of(request), "Remove the authenticator app")
    await service.accounts.second_factors.remove_totp(visitor.caller)
    return redirect_to(ADDRESS, done="app-off")


@router.get("/app/settings/recovery-codes")
async def recovery_codes_form(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """The number of codes left, and the form for new ones."""
    factors = await service.accounts.second_factors.of(visitor.caller)
    if not factors.is_on:
        return redirect_to(ADDRESS)
    left = f"{factors.recovery_codes} {'code' if factors.recovery_codes == 1 else 'codes'}"
    return ask_once(
        request,
        visitor,
        "settings",
        heading="Make new recovery codes?",
        consequences=(f"You have {left} left. New ones take their place: those before stop working.",),
        button="Make new codes",
        back=ADDRESS,
        is_danger=False,
    )


@router.post("/app/settings/recovery-codes")
async def make_recovery_codes(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """Make new codes and show them."""
    await require_proof(request, visitor, await form_of(request), "Make new recovery codes")
    await limits_of(request).check_party(request, Limit.ACCOUNT_CHANGES, f"settings {visitor.caller.session}")
    try:
        codes = await service.accounts.second_factors.make_recovery_codes(visitor.caller)
    except InvalidInput:
        return redirect_to(ADDRESS)
    return recovery_codes_page(request, visitor, codes, "New recovery codes")


@router.post("/app/settings/recovery-codes/file")
async def recovery_codes_file(request: Request, visitor: SignedIn) -> Response:
    """The shown codes as a text file. The page sends them, since only digests are stored."""
    codes = [code for code in (await form_of(request)).all("code") if _CODE.fullmatch(code)][:MAX_CODES]
    lines = [f"Recovery codes of {visitor.caller.name} at Registerwatch. Each works once.", "", *codes, ""]
    return PlainTextResponse("\n".join(lines), headers=DOWNLOAD)


def recovery_codes_page(request: Request, visitor: Visitor, codes: Sequence[str], heading: str) -> Response:
    """The only page that shows recovery codes."""
    return app_page(request, visitor, "account/recovery_codes.html", section="settings", codes=codes, heading=heading)


async def _enrolment_page(request: Request, service: Service, visitor: Visitor, *, problem: str = "") -> Response:
    found = await service.accounts.second_factors.enrolment(visitor.caller)
    if found is None or not (problem or service.accounts.proofs.is_proved(visitor.caller)):
        return redirect_to(ADDRESS)  # no setup is running, or the secret needs more than a session
    return app_page(
        request,
        visitor,
        "account/app_enrolment.html",
        section="settings",
        status=400 if problem else 200,
        qr=_qr_code(found.uri),
        secret=" ".join(found.secret[at : at + 4] for at in range(0, len(found.secret), 4)),
        uri=found.uri,
        problem=problem,
    )


def _qr_code(text: str) -> Markup:
    """An SVG without styles, dark on light in every colour scheme: cameras cannot read others."""
    import segno  # slow to load, and rarely needed

    return Markup(segno.make(text, micro=False).svg_inline(scale=4, light="#fff", svgclass="qr", lineclass=None))  # noqa: S704  # ours
