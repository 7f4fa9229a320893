"""The pages of mailed links: confirming an account as one's own, and joining an account.

The address of each holds a token, which its forms need instead of a cookie, so other sites cannot use them.
Opening a link changes nothing, since mail scanners open links too. No page is cached, indexed or sent in a `Referer`.
"""

from collections.abc import Mapping
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import Response

from registerwatch.accounts.models import Role
from registerwatch.accounts.passwords.confirmation import PROVEN
from registerwatch.accounts.passwords.passwords import MIN_PASSWORD_LENGTH
from registerwatch.accounts.sessions.clients import Client
from registerwatch.bootstrap import Service
from registerwatch.errors import CapReached, InvalidInput, LinkNotValid, SignupClosed, WrongPassword
from registerwatch.pages.account.next_page import HOME
from registerwatch.pages.account.visitor import visitor_of
from registerwatch.pages.forms import form_fields
from registerwatch.pages.public.links.link_pages import bad_link, link_page
from registerwatch.web.injection import InjectedService, client_of, limits_of
from registerwatch.web.limits.rate_limits import Limit

CONFIRMED = "Your address is confirmed", "Nothing else has changed."
TAKEN_OVER = (
    "The account is yours",
    "All keys, sessions, webhooks, feeds, invitations and other users have ended. Sign in with your new password.",
)
DELETED = "The account is deleted", "Nothing of it is left here."
LEFT = "Your address is free again", "The account that it was added to can no longer use it."
OPENED = "Your account is open", "Your address belongs to it alone. Sign in with your new password."
JOINED = "You have joined the account", "Sign in with your e-mail address and the password that you have set."
NOT_SURE = "Say by the mark that you want to delete the account."
SETS_A_PASSWORD = frozenset({"take-over", "join", "open"})
HAS_AN_ACCOUNT = SETS_A_PASSWORD | {"keep"}
UNKNOWN_CHOICE = "Choose one of the answers on this page."

router = APIRouter()


@router.get("/account/confirm")
async def confirm(request: Request, service: InjectedService) -> Response:
    """What was made with an address, and the possible answers of its owner."""
    await limits_of(request).check(request, Limit.PAGES)
    try:
        return await _confirm_page(request, service, request.query_params.get("token", ""))
    except LinkNotValid as error:
        return bad_link(request, str(error))


@router.post("/account/confirm")
async def answer(request: Request, service: InjectedService) -> Response:
    """Do what the owner of the mailbox chose."""
    await limits_of(request).check(request, Limit.PASSWORD_RESET)
    fields = await form_fields(request)
    token = fields.get("token", "")
    try:
        email = (await service.accounts.confirmations.look(token))[0].email
        heading, words = await _chosen(service, token, email, fields, client_of(request))
    except LinkNotValid as error:
        return bad_link(request, str(error))
    except (InvalidInput, WrongPassword, SignupClosed) as error:
        try:
            return await _confirm_page(request, service, token, problem=str(error))
        except LinkNotValid as gone:
            return bad_link(request, str(gone))
    return await _done_page(request, heading, words, email if fields["choice"] in HAS_AN_ACCOUNT else "")


@router.get("/account/invitation")
async def invitation(request: Request, service: InjectedService) -> Response:
    """The inviting user and the account, and the form to accept."""
    await limits_of(request).check(request, Limit.PAGES)
    try:
        return await _invitation_page(request, service, request.query_params.get("token", ""))
    except LinkNotValid as error:
        return bad_link(request, str(error))


@router.post("/account/invitation")
async def accept(request: Request, service: InjectedService) -> Response:
    """Join the account with the chosen password."""
    await limits_of(request).check(request, Limit.PASSWORD_RESET)
    fields = await form_fields(request)
    token, password = fields.get("token", ""), fields.get("password", "")
    invitations = service.accounts.invitations
    try:
        email = (await invitations.look(token)).email
        await service.accounts.passwords.refuse_common(password, email)
        await invitations.accept(token, password, zone=fields.get("zone", ""))
        await service.accounts.sessions.trust_client(email, client_of(request))
    except LinkNotValid as error:
        return bad_link(request, str(error))
    except (InvalidInput, CapReached) as error:
        return await _invitation_page(request, service, token, problem=str(error))
    return await _done_page(request, *JOINED, email)


async def _done_page(request: Request, heading: str, words: str, email: str) -> Response:
    """The page that says what was done, with a button. `email` is empty if its owner has no account afterwards."""
    visitor = await visitor_of(request) if email else None
    other_user = visitor.caller.name if visitor is not None and visitor.caller.name != email else ""
    if not email:
        next_page = ("/", "Search the register")
    elif visitor is None:
        next_page = (f"/login?{urlencode({'email': email})}", "Sign in to your account")
    else:
        next_page = ("/logout", "Sign out") if other_user else (HOME, "Go to your account")
    return link_page(
        request, "account_done.html", heading=heading, words=words, other_user=other_user, next_page=next_page
    )


async def _chosen(
    service: Service, token: str, email: str, fields: Mapping[str, str], client: Client
) -> tuple[str, str]:
    """Carry out an answer. Returns the next page's texts. A user with a new password may sign in from this client."""
    choice = fields.get("choice", "")
    if choice not in SETS_A_PASSWORD:
        return await _carried_out(service, token, choice, fields)
    await service.accounts.passwords.refuse_common(fields.get("password", ""), email)
    said = await _carried_out(service, token, choice, fields)
    await service.accounts.sessions.trust_client(email, client)
    return said


async def _carried_out(service: Service, token: str, choice: str, fields: Mapping[str, str]) -> tuple[str, str]:
    confirmations, password = service.accounts.confirmations, fields.get("password", "")
    match choice:
        case "keep":
            await confirmations.keep(token, password)
            return CONFIRMED
        case "join":
            await confirmations.join(token, password)
            return JOINED
        case "take-over":
            await confirmations.take_over(token, password)
            return TAKEN_OVER
        case "open":
            await confirmations.leave_and_open(token, password, zone=fields.get("zone", ""))
            return OPENED
        case "leave":
            await confirmations.leave(token)
            return LEFT
        case "delete":
            if fields.get("sure") != "yes":
                raise InvalidInput(NOT_SURE)
            await confirmations.delete(token)
            return DELETED
    raise InvalidInput(UNKNOWN_CHOICE)


async def _confirm_page(request: Request, service: Service, token: str, problem: str = "") -> Response:
    """Ask for an answer. Raises `LinkNotValid`."""
    holder, access = await service.accounts.confirmations.look(token)
    if holder.role is Role.OWNER and holder.is_confirmed:
        raise LinkNotValid(PROVEN)
    return link_page(
        request,
        "confirm.html",
        400 if problem else 200,
        token=token,
        holder=holder,
        access=access,
        is_owner=holder.role is Role.OWNER,
        may_open=service.accounts.confirmations.anybody_may_sign_up,
        shortest=MIN_PASSWORD_LENGTH,
        problem=problem,
    )


async def _invitation_page(request: Request, service: Service, token: str, problem: str = "") -> Response:
    """Show an invitation. Raises `LinkNotValid`."""
    invited = await service.accounts.invitations.look(token)
    return link_page(
        request,
        "invitation.html",
        400 if problem else 200,
        token=token,
        invitation=invited,
        shortest=MIN_PASSWORD_LENGTH,
        problem=problem,
    )
