"""Asking for the password again before what an open session alone should not be enough for."""

from starlette.requests import Request

from registerwatch.errors import PasswordTooNew, WrongPassword
from registerwatch.pages.account.rendering import app_page
from registerwatch.pages.account.visitor import Visitor
from registerwatch.pages.forms import Form
from registerwatch.pages.page_instead import PageInstead
from registerwatch.web.injection import client_of, limits_of, service_of
from registerwatch.web.rate_limits import Limit

PROOF_FIELD = "proof-password"


async def require_proof(request: Request, visitor: Visitor, form: Form, purpose: str) -> None:
    """Go on where the password was given within ten minutes. Else a page asks for it, and sends the same form again.

    `purpose` is what is about to be done, for the page's heading: `Make an API key`. Raises `PageInstead`.
    """
    proofs, problem = service_of(request).accounts.proofs, ""
    if proofs.is_proved(visitor.caller):
        return
    if form[PROOF_FIELD]:
        await limits_of(request).check_party(request, Limit.PROOF, visitor.caller.session or "")
        try:
            await proofs.prove(visitor.caller, form[PROOF_FIELD], client_of(request))
        except (WrongPassword, PasswordTooNew) as error:
            problem = str(error)
        else:
            return
    raise PageInstead(
        app_page(
            request,
            visitor,
            "account/proof.html",
            status=400 if problem else 200,
            address=request.url.path,
            fields=[(name, value) for name, value in form.fields if name != PROOF_FIELD],
            purpose=purpose,
            problem=problem,
        )
    )
