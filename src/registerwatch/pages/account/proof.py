"""Asking for the password and the second factor again, before actions for which an open session is not enough."""

from starlette.requests import Request

from registerwatch.errors import PasswordTooNew, RateLimited, SecondFactorNeeded, WrongCode, WrongPassword
from registerwatch.pages.account.rendering import app_page
from registerwatch.pages.account.sign_in.sign_in_form import KeptForm
from registerwatch.pages.account.visitor import Visitor
from registerwatch.pages.forms import Form
from registerwatch.pages.page_instead import PageInstead
from registerwatch.web.injection import client_of, limits_of, service_of
from registerwatch.web.limits.rate_limits import Limit

PROOF_FIELD, CODE_FIELD = "proof-password", "proof-code"
NOT_PROVED = (WrongPassword, PasswordTooNew, SecondFactorNeeded, WrongCode, RateLimited)
"""Errors of `ProofService.prove` about what was typed."""


async def require_proof(request: Request, visitor: Visitor, form: Form, purpose: str) -> None:
    """Require a proof, which may be ten minutes old. Without one a page asks for it and sends the form again; with a
    passkey the user signs in again and the form continues.

    `purpose` is the action, for the page's heading: `Make an API key`. Raises `PageInstead`.
    """
    proofs, problem, status = service_of(request).accounts.proofs, "", 200
    if proofs.is_proved(visitor.caller):
        return
    if form[PROOF_FIELD]:
        await limits_of(request).check_party(request, Limit.PROOF, visitor.caller.session or "")
        try:
            await proofs.prove(visitor.caller, form[PROOF_FIELD], form[CODE_FIELD], client_of(request))
        except NOT_PROVED as error:
            problem, status = str(error), 429 if isinstance(error, RateLimited) else 400
        else:
            return
    fields = [(name, value) for name, value in form.fields if name not in (PROOF_FIELD, CODE_FIELD)]
    raise PageInstead(
        app_page(
            request,
            visitor,
            "account/proof.html",
            status=status,
            address=request.url.path,
            fields=fields,
            kept=KeptForm(request.url.path, fields),
            factors=await proofs.asks_for(visitor.caller),
            purpose=purpose,
            problem=problem,
        )
    )
