"""The pages for a forgotten password: the way to a new one, what goes wrong on it, and that nothing tells the token."""

import re
from typing import Any

import httpx2
import pytest
from structlog.testing import capture_logs

from registerwatch.accounts.passwords.password_reset import MAX_TOKEN_LENGTH, TOKEN_SECONDS
from registerwatch.accounts.passwords.passwords import MAX_PASSWORD_LENGTH
from registerwatch.accounts.sessions.credentials import credential_of
from tests.pages.markup import Markup, accessibility_problems
from tests.support.harness import EMAIL, PASSWORD, ServiceHarness, auth_headers

both_databases = pytest.mark.parametrize("database_kind", ["sqlite", "postgresql"], indirect=True)

FORGOT, RESET = "/password/forgot", "/password/reset"
NEW = "a new password"
LINK = re.compile(r"^http://localhost:8000(/password/reset\?token=[A-Za-z0-9_-]{43})$", re.MULTILINE)
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HOSTILE = '"><script>hacked = true</script>@acme.example'
NO_FORMS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "JSON": {"json": {"email": EMAIL, "token": "t", "password": NEW}},
    "parts": {"content": b"--x\r\n\r\n\r\n--x--", "headers": {"Content-Type": "multipart/form-data; boundary=x"}},
    "a text": {"content": b"email=a", "headers": {"Content-Type": "text/plain"}},
    "no UTF-8": {"content": b"email=%FF", "headers": {"Content-Type": "application/x-www-form-urlencoded"}},
    "no end": {"data": {"email": "a" * 1_000_000}},
    "many fields": {"data": {f"field{number}": "a" for number in range(1_000)}},
}


async def ask(harness: ServiceHarness, email: str = EMAIL) -> httpx2.Response:
    """Send the form that asks for a link, and let the mail go out."""
    response = await harness.client.post(FORGOT, data={"email": email})
    await harness.finish_background_work()
    return response


async def mailed_link(harness: ServiceHarness) -> str:
    """The address in the mail that an owner gets who asks for a link."""
    await ask(harness)
    found = LINK.search(harness.mail.mails[-1].text)
    assert found
    return found[1]


async def new_token(harness: ServiceHarness) -> str:
    """A token that sets the password of a new account."""
    await harness.sign_up()
    return (await mailed_link(harness)).rpartition("=")[2]


async def fill_in(harness: ServiceHarness, token: str, password: str = NEW) -> httpx2.Response:
    """Send the form that sets a password."""
    return await harness.client.post(RESET, data={"token": token, "password": password})


async def login(harness: ServiceHarness, password: str) -> int:
    """The status of a login."""
    return (await harness.post("/v1/login", email=EMAIL, password=password)).status_code


def shown(response: httpx2.Response, status: int, heading: str) -> Markup:
    """The page in an answer, after looking at everything that holds for each of these pages."""
    page = Markup.of(response)
    assert (response.status_code, page.one("h1").text) == (status, heading)
    assert _problems(page) == []
    assert {name: response.headers.get(name) for name in KEPT_BACK} == KEPT_BACK
    assert response.headers["content-security-policy"] == POLICY
    assert page.one("meta", name="robots")["content"] == "noindex"
    addresses = [each[name] for each in page.elements for name in ("href", "src", "action") if name in each.attributes]
    assert [each for each in addresses if not re.match(r"/(?!/)|#", each)] == []
    return page


KEPT_BACK = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-robots-tag": "noindex",
    "x-content-type-options": "nosniff",
    "set-cookie": None,
    "etag": None,
}


def _problems(page: Markup) -> list[str]:
    """What is wrong with a page; a field that nobody sees needs no label."""
    return [each for each in accessibility_problems(page) if "'type': 'hidden'" not in each]


def _complaint(page: Markup, field: str) -> str:
    """What the page says is wrong with a field, which has the focus and names the complaint as its description."""
    box = page.one("input", id=field)
    assert box["aria-invalid"] == "true"
    assert "autofocus" in box.attributes
    assert f"{field}-problem" in box["aria-describedby"].split()
    assert page.title.startswith("Error: ")
    return page.one("p", id=f"{field}-problem").text


# The way


@both_databases
async def test_the_mailed_link_leads_to_a_login_with_the_new_password(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    await harness.prove_address(owner)
    shown(await harness.get(FORGOT), 200, "Forgotten password")
    shown(await ask(harness), 200, "Look into your mail")
    page = shown(await harness.client.get(await mailed_link(harness)), 200, "Set a new password")
    form = page.one("form", action=RESET, method="post")
    fields = {
        each["name"]: each.attributes.get("value") or NEW
        for each in page.all("input")
        if each["name"] != "q" and (each.attributes.get("type") != "radio" or "checked" in each.attributes)
    }

    assert fields.pop("show") == "yes"  # of the form of the button beside the field
    done = await harness.client.post(form["action"], data=fields)

    assert "POST /v1/login" in shown(done, 200, "Your new password is set").main
    assert (await login(harness, NEW), await login(harness, PASSWORD)) == (200, 401)
    assert (await harness.client.get("/v1/me", headers=auth_headers(owner.session))).status_code == 401
    assert (await harness.client.get("/v1/me", headers=auth_headers(owner.api_key))).status_code == 200


@both_databases
async def test_opening_a_link_uses_nothing_up(harness: ServiceHarness) -> None:
    await harness.sign_up()
    link = await mailed_link(harness)
    before = harness.all_rows()

    for path in (link, f"{link}&show=yes", f"{link}&utm_source=scanner"):
        shown(await harness.client.get(path), 200, "Set a new password")
        assert (await harness.client.head(path)).status_code == 200
    assert harness.all_rows() == before
    shown(await fill_in(harness, link.rpartition("=")[2]), 200, "Your new password is set")


async def test_a_password_is_what_was_typed(harness: ServiceHarness) -> None:
    await harness.sign_up()
    for password in (" +a&b=c%20d; ", "contraseña 🩺", "87214365", "a\x00b\tcdefgh", "🩺" * MAX_PASSWORD_LENGTH):
        harness.clock.move(TOKEN_SECONDS)  # only so many links are made within an hour
        token = (await harness.service.accounts.password_reset.link(EMAIL)).rpartition("=")[2]
        shown(await fill_in(harness, token, password), 200, "Your new password is set")
        assert await login(harness, password) == 200, password


async def test_the_fields_tell_browsers_what_they_are_for(harness: ServiceHarness) -> None:
    email = Markup.of(await harness.get(FORGOT)).one("input", id="email")
    hidden, visible = [
        Markup.of(await harness.client.get(f"{RESET}?token=t{end}")).one("input", id="password")
        for end in ("", "&show=")
    ]

    assert (email["autocomplete"], email["inputmode"], email["value"]) == ("username", "email", "")
    assert (hidden["type"], hidden["autocomplete"], hidden["minlength"]) == ("password", "new-password", "8")
    assert (visible["type"], visible["autocomplete"], visible["minlength"]) == ("text", "off", "8")
    for each in (email, hidden, visible):
        assert "required" in each.attributes
        assert (each["spellcheck"], each["autocapitalize"]) == ("false", "none")


# Asking for a link


async def test_the_answer_is_the_same_whether_somebody_has_the_address_or_not(harness: ServiceHarness) -> None:
    await harness.prove_address(await harness.sign_up())
    harness.client.headers["X-Request-Id"] = "the-same"  # else no two answers are alike
    nobody = "nobod@acme.example"
    assert len(nobody) == len(EMAIL)

    answers = [await ask(harness, email) for email in (EMAIL, nobody)]

    assert answers[0].text.replace(EMAIL, nobody) == answers[1].text
    assert answers[0].headers == answers[1].headers
    assert [each.status_code for each in answers] == [200, 200]
    assert [each.to for each in harness.mail.mails] == [EMAIL]


@pytest.mark.parametrize(
    ("email", "complaint"),
    [
        ("", "no e-mail address"),
        ("owner", "no e-mail address"),
        ("owner@acme", "needs a dot"),
        ("ow ner@acme.example", "no e-mail address"),
        ("owner\x00@acme.example", "no e-mail address"),
        ("owner@acme.example\nBcc: x@y.example", "no e-mail address"),
        (HOSTILE, "no e-mail address"),
        ("o" * 10_000 + "@acme.example", "too long"),
    ],
    ids=lambda text: text[:20],
)
async def test_what_is_no_address_comes_back_with_what_is_wrong_with_it(
    harness: ServiceHarness, email: str, complaint: str
) -> None:
    page = shown(await ask(harness, email), 400, "Forgotten password")

    assert complaint in _complaint(page, "email")
    assert page.one("input", id="email")["value"] == email.replace("\x00", "\ufffd")  # which HTML forbids
    assert harness.mail.mails == []


async def test_an_address_is_found_with_spaces_around_it_and_in_capitals(harness: ServiceHarness) -> None:
    await harness.prove_address(await harness.sign_up())

    page = shown(await ask(harness, f"  {EMAIL.upper()} "), 200, "Look into your mail")

    assert page.one("strong").text == EMAIL.upper()
    assert [each.to for each in harness.mail.mails] == [EMAIL]


# Setting


@both_databases
async def test_a_password_that_cannot_be_set_is_asked_for_again_and_the_link_goes_on_working(
    harness: ServiceHarness,
) -> None:
    token = await new_token(harness)
    for password, complaint in {
        "": "at least 8",
        "1234567": "at least 8",
        "x" * (MAX_PASSWORD_LENGTH + 1): "more than",
    }.items():
        page = shown(await fill_in(harness, token, password), 400, "Set a new password")
        assert complaint in _complaint(page, "password")
        assert "value" not in page.one("input", id="password").attributes
        assert {each["value"] for each in page.all("input", name="token")} == {token}
        assert await login(harness, PASSWORD) == 200

    shown(await fill_in(harness, token), 200, "Your new password is set")


@both_databases
@pytest.mark.parametrize("why", ["used", "over", "replaced"])
async def test_a_link_that_works_no_longer_leads_to_a_new_one(harness: ServiceHarness, why: str) -> None:
    token = await new_token(harness)
    if why == "used":
        await fill_in(harness, token, "another password")
    elif why == "over":
        harness.clock.move(TOKEN_SECONDS)
    else:
        accounts = harness.service.accounts
        caller = await accounts.sessions.caller(credential_of(None, await harness.sign_in(EMAIL)))
        await accounts.password_reset.change(caller, "another password", is_proved=True)

    page = shown(await fill_in(harness, token), 400, "This link does not work")

    assert "used already" in page.main
    assert page.link("Ask for a new link") == FORGOT
    assert token not in page.main
    assert await login(harness, NEW) == 401


@pytest.mark.parametrize(
    "token", ["", "nobody's", "\x00", "🩺", "t" * (MAX_TOKEN_LENGTH + 1), "t" * 10_000, "' OR 1=1 --"]
)
async def test_a_token_that_nobody_was_given_sets_nothing(harness: ServiceHarness, token: str) -> None:
    await new_token(harness)
    before = harness.all_rows()

    for password in (NEW, "short"):
        shown(await fill_in(harness, token, password), 400, "This link does not work")
    assert harness.all_rows() == before


@pytest.mark.parametrize("query", ["", "?token=", "?token", f"?token={'t' * (MAX_TOKEN_LENGTH + 1)}", "?other=t"])
async def test_an_address_without_a_token_or_with_too_long_a_one_is_no_link(
    harness: ServiceHarness, query: str
) -> None:
    page = shown(await harness.client.get(RESET + query), 400, "This link does not work")

    assert page.link("Ask for a new link") == FORGOT


@pytest.mark.parametrize("token", ["%00", "%ff%fe", "%22%3E%3Cscript%3E", "a&token=b", "t" * MAX_TOKEN_LENGTH])
async def test_any_other_token_gets_the_form_and_stays_a_value_in_it(harness: ServiceHarness, token: str) -> None:
    page = shown(await harness.client.get(f"{RESET}?token={token}"), 200, "Set a new password")

    assert len({each["value"] for each in page.all("input", name="token")}) == 1
    assert [each for each in page.all("script") if not each.attributes.get("src")] == []


# Around


@pytest.mark.parametrize("path", [FORGOT, RESET, "/account/confirm", "/account/invitation"])
@pytest.mark.parametrize("sent", NO_FORMS.values(), ids=NO_FORMS)
async def test_what_no_form_sends_is_refused_as_a_page(
    harness: ServiceHarness, path: str, sent: dict[str, Any]
) -> None:
    with capture_logs() as logged:
        response = await harness.client.post(path, **sent)

    shown(response, 400, "This request cannot be understood")
    assert logged == []


async def test_a_form_without_its_fields_is_a_page_too(harness: ServiceHarness) -> None:
    shown(await harness.client.post(FORGOT, data={"other": "x"}), 400, "Forgotten password")
    shown(await harness.client.post(RESET, data={"other": "x"}), 400, "This link does not work")
    shown(await harness.client.post(RESET, data={"password": NEW}), 400, "This link does not work")
    shown(await fill_in(harness, await new_token(harness), ""), 400, "Set a new password")


@pytest.mark.parametrize(
    ("method", "path", "status", "heading"),
    [
        ("DELETE", f"{RESET}?token=t", 405, "This cannot be done here"),
        ("GET", f"{RESET}/?token=t", 404, "There is nothing here"),
        ("GET", "/password/", 404, "There is nothing here"),
    ],
)
async def test_errors_under_these_addresses_tell_nobody_of_them(
    harness: ServiceHarness, method: str, path: str, status: int, heading: str
) -> None:
    shown(await harness.client.request(method, path), status, heading)


async def test_a_failure_inside_tells_no_token_to_the_page_or_the_log(
    harness: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = await new_token(harness)

    async def broken(*_args: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(type(harness.service.accounts.password_reset), "reset", broken)
    with capture_logs() as logged:
        response = await fill_in(harness, token)

    shown(response, 500, "Something went wrong")
    assert token not in response.text + str(logged)
    assert [each["path"] for each in logged] == [RESET]


async def test_links_are_asked_for_five_times_an_hour_over_pages_and_interface_together(
    limited: ServiceHarness,
) -> None:
    answers = [await ask(limited) for _ in range(3)]
    answers.append(await ask(limited, "no address"))
    answers.append(await limited.post("/v1/password/forgot", email=EMAIL))
    refused = await ask(limited)

    assert [each.status_code for each in answers] == [200, 200, 200, 400, 200]
    assert [each.headers["ratelimit-remaining"] for each in answers] == ["4", "3", "2", "1", "0"]
    assert (await limited.get(FORGOT)).headers["ratelimit-limit"] == "120"
    assert int(refused.headers["retry-after"]) > 60
    shown(refused, 429, "Too many requests")


async def test_tokens_are_tried_twenty_times_an_hour_and_opening_links_counts_as_a_page(
    limited: ServiceHarness,
) -> None:
    token = await new_token(limited)
    answers = [await fill_in(limited, "nobody's") for _ in range(20)]
    opened = await limited.get(RESET, token=token)

    assert {each.status_code for each in answers} == {400}
    assert (answers[0].headers["ratelimit-limit"], answers[0].headers["ratelimit-remaining"]) == ("20", "19")
    assert (opened.status_code, opened.headers["ratelimit-limit"]) == (200, "120")
    shown(await fill_in(limited, token), 429, "Too many requests")
    assert await login(limited, PASSWORD) == 200
