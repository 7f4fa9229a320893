"""Signing in by an OpenID provider: a real one that runs beside the tests."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx2
import pytest

from registerwatch.accounts.audit.audit import Action
from registerwatch.accounts.models import NewSession
from registerwatch.accounts.passwords.password_reset import EndedAccess
from registerwatch.accounts.provider.provider_client import ProviderClient
from registerwatch.accounts.provider.provider_repository import REQUEST_SECONDS
from registerwatch.accounts.provider.provider_sign_in import FinishedSignIn
from registerwatch.accounts.sessions.sign_in_steps import NewStep
from registerwatch.accounts.use_cases import Accounts, build_accounts
from registerwatch.errors import ProviderSignInFailed
from registerwatch.mail.memory_mailer import MemoryMailer
from registerwatch.platform.db.engine import Database
from registerwatch.settings import Settings
from tests.accounts.actions import EMAIL, by_session, mails_settled, owner_of, prove_address
from tests.accounts.openid_provider import BACK, CLIENT_ID, CLIENT_SECRET, OpenIdProvider, openid_provider
from tests.accounts.second_factors import app_of
from tests.support.fakes import SteppedClock, quick_passwords

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])

OTHER = "other@other.example"


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenIdProvider]:
    with openid_provider(tmp_path_factory.mktemp("provider")) as running:
        yield running


@pytest.fixture
async def accounts(
    database: Database, clock: SteppedClock, mail: MemoryMailer, provider: OpenIdProvider, tmp_path: Path
) -> AsyncIterator[Accounts]:
    client = ProviderClient(
        httpx2.AsyncClient(),
        clock,
        issuer=provider.issuer,
        client_id=CLIENT_ID,
        client_secret=CLIENT_SECRET,
        redirect_address=BACK,
    )
    settings = Settings(data_dir=tmp_path, oidc_name="Acme login")
    built = build_accounts(settings, database, clock, mail, quick_passwords(), provider=client)
    yield built
    await built.close()


async def come_back(accounts: Accounts, provider: OpenIdProvider, name: str, next_address: str = "") -> FinishedSignIn:
    """Sign in at the provider, and come back."""
    begun = await accounts.provider.begin(next_address)
    back = await provider.sign_in(begun.address, name)
    assert (back["state"], back["iss"]) == (begun.state, provider.issuer)
    return await accounts.provider.finish(back["state"], back["code"])


async def test_who_has_proven_the_address_on_both_sides_is_linked_by_the_first_sign_in(
    accounts: Accounts, provider: OpenIdProvider, mail: MemoryMailer
) -> None:
    caller = await owner_of(accounts)
    with pytest.raises(ProviderSignInFailed, match="has not confirmed"):
        await come_back(accounts, provider, EMAIL)
    await prove_address(accounts)
    with pytest.raises(ProviderSignInFailed, match="has not confirmed"):
        await come_back(accounts, provider, f"unverified:{EMAIL}")
    with pytest.raises(ProviderSignInFailed, match="Nobody here"):
        await come_back(accounts, provider, OTHER)
    mail.mails.clear()

    for _ in range(2):
        finished = await come_back(accounts, provider, EMAIL, "/app/events")
        assert isinstance(finished.opened, NewSession)
        assert (await by_session(accounts, finished.opened.session)).name == EMAIL
        assert finished.next == "/app/events"

    await mails_settled(accounts)
    assert len(mail.mails) == 1, "it is told once"
    [link] = await accounts.provider.links(caller)
    assert link.email == EMAIL
    actions = [entry.action for entry in await accounts.members.trail(caller)]
    assert actions[:3] == [Action.SIGNED_IN, Action.SIGNED_IN, Action.SIGN_IN_LINKED]
    await accounts.provider.unlink(caller)
    assert await accounts.provider.links(caller) == []


async def test_a_user_links_themselves_to_a_person_of_another_address(
    accounts: Accounts, provider: OpenIdProvider
) -> None:
    caller, stranger = await owner_of(accounts), await owner_of(accounts, OTHER)
    name = "unverified:somebody@login.example"

    async def link(whom: object) -> None:
        begun = await accounts.provider.begin("", caller)
        back = await provider.sign_in(begun.address, name)
        await accounts.provider.finish(back["state"], back["code"], caller=whom)  # type: ignore[arg-type]

    for somebody_else in (stranger, None):
        with pytest.raises(ProviderSignInFailed, match="another browser"):
            await link(somebody_else)
    for _ in range(2):
        await link(caller)

    finished = await come_back(accounts, provider, name)
    assert isinstance(finished.opened, NewSession)
    assert (await by_session(accounts, finished.opened.session)).name == EMAIL
    begun = await accounts.provider.begin("", stranger)
    back = await provider.sign_in(begun.address, name)
    with pytest.raises(ProviderSignInFailed, match="another user"):
        await accounts.provider.finish(back["state"], back["code"], caller=stranger)


async def test_an_address_links_one_person_and_a_mailed_link_that_ends_everything_ends_that_too(
    accounts: Accounts, provider: OpenIdProvider
) -> None:
    caller = await owner_of(accounts)
    await prove_address(accounts)
    await come_back(accounts, provider, EMAIL)
    with pytest.raises(ProviderSignInFailed, match="Somebody else"):
        await come_back(accounts, provider, f"mfa:{EMAIL}")  # the same address, of another person

    for ends, left in ((EndedAccess.OWN_SESSIONS, 1), (EndedAccess.KEYS_AND_SESSIONS, 0)):
        begun = await accounts.provider.begin("", caller)
        link = await accounts.password_reset.link(EMAIL)
        await accounts.password_reset.reset(link.rpartition("=")[2], "a new password", ends=ends)
        assert len(await accounts.provider.links(caller)) == left, ends
    back = await provider.sign_in(begun.address, OTHER)
    with pytest.raises(ProviderSignInFailed, match="ten minutes"):
        await accounts.provider.finish(back["state"], back["code"], caller=caller)


async def test_a_second_factor_is_asked_for_unless_the_provider_did(
    accounts: Accounts, provider: OpenIdProvider, clock: SteppedClock
) -> None:
    caller = await owner_of(accounts)
    await prove_address(accounts)
    app = await app_of(accounts, caller, clock)

    step = (await come_back(accounts, provider, EMAIL)).opened
    assert isinstance(step, NewStep)
    assert (await accounts.second_step.finish(step.token, app.recovery_codes[0])).session
    assert isinstance((await come_back(accounts, provider, f"mfa:{EMAIL}")).opened, NewSession)


async def test_who_takes_an_account_back_ends_links_that_somebody_else_made(
    accounts: Accounts, provider: OpenIdProvider
) -> None:
    caller = await owner_of(accounts)
    await prove_address(accounts)
    begun = await accounts.provider.begin("", caller)
    back = await provider.sign_in(begun.address, "thief@login.example")
    await accounts.provider.finish(back["state"], back["code"], caller=caller)

    token = (await accounts.password_reset.link(EMAIL)).rpartition("=")[2]
    await accounts.password_reset.reset(token, "a new password", ends=EndedAccess.ALL)

    with pytest.raises(ProviderSignInFailed):
        await come_back(accounts, provider, "thief@login.example")


async def test_a_state_and_a_code_work_once_and_for_ten_minutes(
    accounts: Accounts, provider: OpenIdProvider, clock: SteppedClock
) -> None:
    await owner_of(accounts)
    await prove_address(accounts)
    first, second = await accounts.provider.begin(""), await accounts.provider.begin("")
    back, other = await provider.sign_in(first.address, EMAIL), await provider.sign_in(second.address, EMAIL)

    with pytest.raises(ProviderSignInFailed, match="did not say"):
        await accounts.provider.finish(back["state"], other["code"])  # PKCE: the code belongs to the other one
    with pytest.raises(ProviderSignInFailed, match="ten minutes"):
        await accounts.provider.finish(back["state"], back["code"])
    for made_up in ("", "x", "\ud800"):
        with pytest.raises(ProviderSignInFailed):
            await accounts.provider.finish(made_up, other["code"])
    clock.move(REQUEST_SECONDS)
    with pytest.raises(ProviderSignInFailed):
        await accounts.provider.finish(other["state"], other["code"])
