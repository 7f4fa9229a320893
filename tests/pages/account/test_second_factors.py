"""Setting up an authenticator app on pages, recovery codes, removing it."""

import re

import pyotp

from registerwatch.accounts.passwords.proof import PROOF_SECONDS
from tests.accounts.second_factors import RECOVERY_CODE, app_of
from tests.pages.account.pages_client import STRONG_PASSWORD, PagesClient
from tests.pages.markup import Markup, accessibility_problems
from tests.support.harness import ServiceHarness

SETTINGS = "/app/settings"
APP = f"{SETTINGS}/authenticator"


def secret_in(page: Markup) -> str:
    """The secret that a page shows."""
    found = re.search(r"(?:[A-Z2-7]{4} ){7}[A-Z2-7]{4}", page.main)
    assert found, page.main
    return found[0].replace(" ", "")


async def test_an_app_is_set_up_by_its_first_code_and_the_recovery_codes_are_shown_once(
    harness: ServiceHarness, browser_client: PagesClient
) -> None:
    await browser_client.sign_up()
    form = await browser_client.follow(await browser_client.post(APP))
    assert accessibility_problems(form) == []
    assert form.one("svg")
    assert secret_in(form) == secret_in(await browser_client.page(APP)), "a reload makes no other secret"

    for typed in ("000000", "жжжжжж"):
        wrong = await browser_client.post(f"{APP}/confirm", code=typed)
        assert (wrong.status_code, "not the code" in Markup.of(wrong).main) == (400, True)
    code = pyotp.TOTP(secret_in(form)).at(int(harness.clock.now()))
    shown = Markup.of(await browser_client.post(f"{APP}/confirm", code=code))

    codes = RECOVERY_CODE.findall(shown.main)
    assert len(codes) == 10
    assert accessibility_problems(shown) == []
    file = await browser_client.post(f"{SETTINGS}/recovery-codes/file", code=[*codes, "=cmd()", "x"])
    assert RECOVERY_CODE.findall(file.text) == codes
    assert "cmd" not in file.text
    assert file.headers["content-disposition"].startswith("attachment")
    settings = await browser_client.page(SETTINGS)
    assert "10 left" in settings.main
    assert not RECOVERY_CODE.search(settings.main)
    assert (await browser_client.get(APP)).headers["location"] == SETTINGS, "the secret is not shown again"


async def test_new_recovery_codes_take_the_place_of_those_before_and_go_with_the_app(
    harness: ServiceHarness, browser_client: PagesClient
) -> None:
    await browser_client.sign_up()
    secret = secret_in(await browser_client.follow(await browser_client.post(APP)))
    first = await browser_client.post(f"{APP}/confirm", code=pyotp.TOTP(secret).at(int(harness.clock.now())))

    form = await browser_client.page(f"{SETTINGS}/recovery-codes")
    assert "10 codes left" in form.main
    anew = await browser_client.post(f"{SETTINGS}/recovery-codes")
    assert not set(RECOVERY_CODE.findall(first.text)) & set(RECOVERY_CODE.findall(anew.text))

    removal = await browser_client.page(f"{APP}/remove")
    assert "recovery codes stop working" in removal.main
    for page in (form, removal):
        assert accessibility_problems(page) == []
    page = await browser_client.follow(await browser_client.post(f"{APP}/remove"))
    assert "The authenticator app is removed" in page.main
    for address in (f"{APP}/remove", f"{SETTINGS}/recovery-codes"):
        assert (await browser_client.get(address)).headers["location"] == SETTINGS
    assert (await browser_client.post(f"{SETTINGS}/recovery-codes")).headers["location"] == SETTINGS


async def test_an_old_session_alone_changes_no_second_factor(
    harness: ServiceHarness, browser_client: PagesClient
) -> None:
    await browser_client.sign_up()
    await browser_client.post(APP)
    harness.clock.move(PROOF_SECONDS)

    assert (await browser_client.get(APP)).headers["location"] == SETTINGS, "nor shows a secret"
    for address in (APP, f"{APP}/confirm", f"{APP}/remove", f"{SETTINGS}/recovery-codes"):
        asked = await browser_client.post(address, code="000000")
        assert Markup.of(asked).one("input", id="proof-password"), address
        assert "otpauth" not in asked.text, "the secret would let a thief of the session turn the app on"
    proved = await browser_client.post(APP, **{"proof-password": STRONG_PASSWORD})
    assert proved.headers["location"] == APP


ASKS_AGAIN = {
    f"{APP}/remove": {"sure": "yes"},
    f"{SETTINGS}/recovery-codes": {},
    f"{SETTINGS}/passkeys/new": {"label": "of the thief"},
    "/app/keys": {"form": "x", "label": "of the thief", "scope": "manage"},
    "/app/team/users": {"email": "thief@evil.example", "password": "a phrase of the thief"},
}


async def test_who_stole_password_and_session_changes_nothing_where_a_second_factor_is_on(
    harness: ServiceHarness, browser_client: PagesClient
) -> None:
    await browser_client.sign_up()
    await app_of(harness.service.accounts, await browser_client.caller(), harness.clock)
    harness.clock.move(PROOF_SECONDS)
    proof, before = {"proof-password": STRONG_PASSWORD}, await harness.all_rows_but_failed_sign_ins()

    for address, fields in ASKS_AGAIN.items():
        asked = Markup.of(await browser_client.post(address, **fields))
        assert asked.one("input", id="proof-code"), address
        assert accessibility_problems(asked) == []
        refused = await browser_client.post(address, **fields, **proof)
        assert (refused.status_code, "You have a second factor" in Markup.of(refused).main) == (400, True), address
    changes = {"old-password": STRONG_PASSWORD, "password": "a phrase of the thief"}
    for address, fields in ((f"{SETTINGS}/password", changes), (f"{SETTINGS}/delete", {"password": STRONG_PASSWORD})):
        assert (await browser_client.page(address)).one("input", id="proof-code")
        assert (await browser_client.post(address, **fields)).status_code == 400
    assert await harness.all_rows_but_failed_sign_ins() == before
    wrong = await browser_client.post(f"{APP}/remove", **proof, **{"proof-code": "000000"})
    assert (wrong.status_code, "This code is wrong" in Markup.of(wrong).main) == (400, True)
    assert Markup.of(wrong).one("input", id="proof-code").attributes.get("value") == ""
    await harness.finish_background_work()
    assert "wrong code, asked again within a session" in [row["subject"] for row in harness.all_rows()["audit"]][-1]


async def test_a_code_of_the_app_or_a_recovery_code_goes_with_the_password_for_ten_minutes(
    harness: ServiceHarness, browser_client: PagesClient
) -> None:
    await browser_client.sign_up()
    app = await app_of(harness.service.accounts, await browser_client.caller(), harness.clock)
    for number, recovery_code in enumerate(("", app.recovery_codes[0])):
        harness.clock.move(PROOF_SECONDS)
        proof = {"proof-password": STRONG_PASSWORD, "proof-code": recovery_code or app.next_code()}
        made = await browser_client.post("/app/keys", form=f"x{number}", label="ERP", scope="read", **proof)
        assert re.search(r"\brw_[\w-]{43}\b", made.text)
        again = await browser_client.post("/app/keys", form=f"y{number}", label="CRM", scope="read")
        assert re.search(r"\brw_[\w-]{43}\b", again.text), "asked once in ten minutes"
    assert "9 left" in (await browser_client.page(SETTINGS)).main
    harness.clock.move(PROOF_SECONDS)

    too_short = {"old-password": STRONG_PASSWORD, "password": "short", "proof-code": app.next_code()}
    refused = Markup.of(await browser_client.post(f"{SETTINGS}/password", **too_short))
    assert "at least 8" in refused.main
    assert not refused.all("input", id="proof-code"), "the code was right, and is not asked for again"
    changed = await browser_client.post(f"{SETTINGS}/password", **{**too_short, "password": "another long phrase"})
    assert "Your password is changed" in (await browser_client.follow(changed)).main
