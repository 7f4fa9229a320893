"""The pages for a forgotten password: requesting a link, and setting a password by it.

The address of a mailed link holds a token that sets a password. No page under it is cached, indexed or sent
in a `Referer`. Opening the link does not use it up, since mail scanners open links too.
"""

from collections.abc import Mapping
from contextlib import suppress

from fastapi import APIRouter, Request
from starlette.responses import Response

from registerwatch.accounts.models import Role
from registerwatch.accounts.passwords.confirmation_repository import LinkHolder
from registerwatch.accounts.passwords.password_reset import BAD_TOKEN, MAX_TOKEN_LENGTH, EndedAccess
from registerwatch.accounts.passwords.passwords import MIN_PASSWORD_LENGTH
from registerwatch.bootstrap import Service
from registerwatch.errors import InvalidInput, LinkNotValid
from registerwatch.pages.forms import form_fields
from registerwatch.pages.public.links.link_pages import bad_link, link_page
from registerwatch.web.injection import InjectedService, client_of, limits_of
from registerwatch.web.limits.rate_limits import Limit

router = APIRouter()


@router.get("/password/forgot")
async def forgot(request: Request, service: InjectedService) -> Response:
    """The form that asks for a link."""
    await limits_of(request).check(request, Limit.PAGES)
    return _forgot_form(request, service)


@router.post("/password/forgot")
async def send_link(request: Request, service: InjectedService) -> Response:
    """Mail a link to the user with this address; the page is the same if there is none."""
    await limits_of(request).check(request, Limit.PASSWORD_FORGOT)
    email = (await form_fields(request)).get("email", "")
    if not service.accounts.password_reset.can_mail_links:
        return _forgot_form(request, service)
    try:
        service.accounts.password_reset.send_link(email)
    except InvalidInput as error:
        return _forgot_form(request, service, email, str(error))
    return link_page(request, "password_mailed.html", email=email)


@router.get("/password/reset")
async def reset(request: Request, service: InjectedService) -> Response:
    """The form that sets a password. `show` makes its field visible from the start."""
    await limits_of(request).check(request, Limit.PAGES)
    token = request.query_params.get("token", "")
    if not 0 < len(token) <= MAX_TOKEN_LENGTH:
        return bad_link(request, BAD_TOKEN)
    return await _reset_form(request, service, token, shown="show" in request.query_params)


@router.post("/password/reset")
async def set_password(request: Request, service: InjectedService) -> Response:
    """Set the password and say so, or show the problem."""
    await limits_of(request).check(request, Limit.PASSWORD_RESET)
    fields = await form_fields(request)
    token, password = fields.get("token", ""), fields.get("password", "")
    try:
        holder, _ = await service.accounts.confirmations.look(token)
        await service.accounts.passwords.refuse_common(password, holder.email)
        ends = _ended_access(fields, holder)
        report = await service.accounts.password_reset.reset(token, password, client_of(request), ends=ends)
    except LinkNotValid:
        return bad_link(request, BAD_TOKEN)
    except InvalidInput as error:
        return await _reset_form(request, service, token, problem=str(error))
    return link_page(request, "password_set.html", ended=report.ended, left=report.left)


def _forgot_form(request: Request, service: Service, email: str = "", problem: str = "") -> Response:
    if not service.accounts.password_reset.can_mail_links:
        return link_page(request, "password_no_mail.html", contact=service.settings.contact)
    return link_page(request, "password_forgot.html", 400 if problem else 200, email=email, problem=problem)


def _ended_access(fields: Mapping[str, str], holder: LinkHolder) -> EndedAccess:
    """Which earlier access ends: with a proven address the chosen one, else all unless it is kept."""
    if not holder.is_confirmed:
        return EndedAccess.OWN_SESSIONS if "keep" in fields else EndedAccess.ALL
    try:
        return EndedAccess(fields.get("end", EndedAccess.OWN_SESSIONS))
    except ValueError:
        return EndedAccess.ALL  # the user wanted access to end, so an unknown choice ends all


async def _reset_form(
    request: Request, service: Service, token: str, *, shown: bool = False, problem: str = ""
) -> Response:
    """The form, with what was made in an owner's account so far. An unknown token gets the form too."""
    holder = access = None
    with suppress(LinkNotValid):
        holder, access = await service.accounts.confirmations.look(token)
    return link_page(
        request,
        "password_reset.html",
        400 if problem else 200,
        token=token,
        holder=holder,
        access=access,
        is_owner=holder is not None and holder.role is Role.OWNER,
        shown=shown,
        problem=problem,
        shortest=MIN_PASSWORD_LENGTH,
    )
