"""Whoever tries to take an account over, to guess its password, or to hide what they did in it."""

import re
import statistics
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pyotp
import pytest

from tests.accounts.second_factors import RECOVERY_CODE
from tests.attacks.service import AttackedService, new_address
from tests.support.mailbox import Mailbox, mailbox

PASSWORD = "correct horse"
OWN = "a long phrase that nobody uses"
"""Of owners who sign in on pages, which refuse common passwords."""
GUESSES = 200
MOST_GUESSES = 60
"""Of one user's password within a minute, from wherever."""
LOGIN_SECONDS = 1.0
MOST_LINES = 110
"""Of an account's audit trail, after hundreds of saves in a day."""


@pytest.fixture(scope="module")
def box() -> Iterator[Mailbox]:
    """Where the service's mails arrive."""
    with mailbox() as made:
        yield made


@pytest.fixture(scope="module")
def service_settings(box: Mailbox) -> dict[str, str]:
    """A service that sends mails and encrypts secrets."""
    return {"SMTP_URL": box.address, "MAIL_FROM": "Registerwatch <service@example.org>"}


def test_a_trial_in_somebody_elses_name_is_worth_nothing_once_they_reset_their_password(
    service: AttackedService, box: Mailbox
) -> None:
    with service.attacked("trials in the names of others, who reset their passwords"):
        for _ in service.rounds():
            victim = f"victim{service.number()}@hospital.example"
            opened = service.request("POST", "/v1/trial", fields={"email": victim, "password": "attacker's own"}).json()
            member = _member_of(service, opened["api_key"])
            feed = service.request("POST", "/v1/feeds", key=opened["api_key"], fields={}).json()

            token = _reset_token(service, box, victim)
            reset = service.request("POST", "/v1/password/reset", fields={"token": token, "password": PASSWORD})
            assert reset.status_code == 200, reset.text

            bearers = {"Authorization": f"Bearer {opened['session']}"}, {"X-API-Key": opened["api_key"]}
            assert [service.request("GET", "/v1/me", headers=each).status_code for each in bearers] == [401, 401]
            assert service.request("POST", "/v1/login", fields=member).status_code == 401
            assert service.request("GET", _target(feed["feed"]["events"])).status_code in (401, 404)
            mine = service.request("POST", "/v1/login", fields={"email": victim, "password": PASSWORD}).json()
            assert [user["email"] for user in mine["users"]] == [victim]


def test_a_key_that_sets_the_owners_password_cannot_delete_the_account_with_it(service: AttackedService) -> None:
    with service.attacked("stolen keys that delete the account"):
        for _ in service.rounds():
            key = service.sign_up()
            _set_password(service, "set by a key", key=key)
            deleted = service.request("POST", "/v1/account/delete", key=key, fields={"password": "set by a key"})
            assert deleted.status_code in (401, 403, 409), deleted.text
            assert service.request("GET", "/v1/me", key=key).status_code == 200


def test_a_key_and_wrong_codes_keep_no_owner_out_who_sets_a_password_by_a_mailed_link(
    service: AttackedService, box: Mailbox
) -> None:
    with service.attacked("stolen keys and wrong codes"):
        for _ in service.rounds():
            owner, thief, theirs = _OwnerWithAnApp(service, box), new_address(), "set by the thief"
            _set_password(service, theirs, key=owner.key)
            guesses = [owner.login(theirs, "000000", address=thief).status_code for _ in range(20)]
            assert guesses == [401] * 20
            elsewhere = owner.login(theirs, owner.app.now(), address=new_address())
            assert elsewhere.status_code == 200, "codes are counted by network"
            key = service.request("POST", "/v1/keys", key=owner.key, fields={}).json()["api_key"]

            token = _reset_token(service, box, owner.email)
            _set_password(service, "once more", key=key)
            form = {"token": token, "password": OWN, "end": "keys and sessions"}
            assert owner.browser.post("/password/reset", data=form).status_code == 200

            for code in (owner.recovery_codes[0], owner.app.at(time.time() + 30)):
                assert owner.login(OWN, code, address=new_address()).status_code == 200
            for ended in (owner.key, key):
                assert service.request("POST", "/v1/keys", key=ended, fields={}).status_code == 401


def test_a_stolen_session_removes_no_second_factor(service: AttackedService, box: Mailbox) -> None:
    with service.attacked("stolen sessions"):
        for _ in service.rounds():
            owner, theirs = _OwnerWithAnApp(service, box), "set by the thief"
            cookie = owner.browser.cookies["session"]
            for headers in ({"Authorization": f"Bearer {cookie}"}, {"X-API-Key": cookie}):
                for path, fields in (("/v1/password", {"password": theirs}), ("/v1/keys", {})):
                    answer = service.request("POST", path, headers=headers, fields=fields)
                    assert answer.status_code == 401, (path, answer.text)

            _set_password(service, theirs, headers={"Authorization": f"Bearer {owner.session}"})
            thief = _browser(service)
            thief.cookies.set("session", owner.session)
            assert thief.get("/app/settings").status_code == 303
            signed_in = _browser(service)
            signed_in.post("/login", data={"email": owner.email, "password": theirs})
            signed_in.post("/login/second-step", data={"code": owner.app.at(time.time() + 30)})
            removed = signed_in.post("/app/settings/authenticator/remove", data={"proof-password": theirs})
            refused = removed.status_code == 400 and "mailed link" in removed.text
            assert refused, "not even with a code of the phone"


def test_a_key_that_may_only_read_changes_nothing(service: AttackedService) -> None:
    with service.attacked("keys that may only read"):
        for _ in service.rounds():
            owner = service.sign_up()
            made = service.request("POST", "/v1/keys", key=owner, fields={"label": "reader", "scope": "read"}).json()
            tries = {
                ("POST", "/v1/watches"): {"subject": service.subject},
                ("POST", "/v1/keys"): {},
                ("POST", "/v1/password"): {"password": PASSWORD},
                ("POST", "/v1/webhook"): {"url": "http://127.0.0.1:9/"},
            }
            answers = [
                service.request(method, path, key=made["api_key"], fields=fields).status_code
                for (method, path), fields in tries.items()
            ]
            assert answers == [403] * len(tries)


def test_a_member_sees_no_secret_of_the_account(service: AttackedService) -> None:
    with service.attacked("members who look for secrets"):
        for _ in service.rounds():
            owner = service.sign_up()
            service.request("POST", "/v1/webhook", key=owner, fields={"url": "http://127.0.0.1:9/"})
            session = service.request("POST", "/v1/login", fields=_member_of(service, owner)).json()["session"]
            seen = [
                service.request("GET", path, headers={"Authorization": f"Bearer {session}"}).text
                for path in ("/v1/me", "/v1/webhooks", "/v1/audit", "/v1/feeds")
            ]
            assert not [each for each in seen if "whsec_" in each]


def test_saving_a_webhook_again_and_again_hides_nothing_that_was_done_before(service: AttackedService) -> None:
    key = service.sign_up()
    with service.attacked("webhooks that are saved again and again"):
        for _ in range(101):
            service.request("POST", "/v1/webhook", key=key, fields={"url": "http://127.0.0.1:9/same"})
        for number in range(service.length.times(120, 400)):
            service.request("POST", "/v1/webhook", key=key, fields={"url": f"http://127.0.0.1:9/{number}"})
    actions = [entry["action"] for entry in _whole_trail(service, key)]
    assert actions[-1] == "account opened"
    assert len(actions) <= MOST_LINES


def test_a_key_that_may_only_watch_takes_no_places_that_forms_of_owners_need(service: AttackedService) -> None:
    who = {"email": f"owner{service.number()}@hospital.example", "password": PASSWORD}
    opened = service.request("POST", "/v1/trial", fields=who).json()
    made = service.request("POST", "/v1/keys", key=opened["api_key"], fields={"scope": "watch"}).json()

    def sent(number: int) -> int:
        headers = {"Idempotency-Key": f"{number}"}
        body = {"subject": service.subject}
        return service.request("POST", "/v1/watches", key=made["api_key"], headers=headers, fields=body).status_code

    name = "a key that may only watch and sends requests with an Idempotency-Key"
    with service.attacked(name), ThreadPoolExecutor(4) as threads:
        statuses = set(threads.map(sent, range(service.length.times(100, 5_100))))
    assert statuses <= {200, 429}, statuses
    assert not service.length.is_timed or 429 in statuses, "what a key may send is bounded"

    headers = {"Cookie": f"session={service.browser_session(who['email'])}", "Sec-Fetch-Site": "same-origin"}
    with httpx2.Client(timeout=60) as client:
        fields = {"url": "http://127.0.0.1:9/of-the-owner", "form": "a token of its own"}
        answer = client.post(f"{service.node.url}/app/webhooks", data=fields, headers=headers)
    assert answer.headers.get("location", "").startswith("/app/webhooks/"), answer.status_code


def test_an_address_that_is_added_twice_gets_nothing_twice(service: AttackedService) -> None:
    with service.attacked("webhooks that are added twice"):
        for _ in service.rounds():
            key = service.sign_up()
            for _ in range(5):
                service.request("POST", "/v1/webhooks", key=key, fields={"url": "http://127.0.0.1:9/same"})
            assert len(service.request("GET", "/v1/webhooks", key=key).json()["webhooks"]) == 1


def test_a_whole_network_of_addresses_guesses_few_passwords_of_one_user(service: AttackedService) -> None:
    with service.attacked("guesses from many addresses of one network"):
        for _ in service.rounds():
            email = f"guessed{service.number()}@hospital.example"
            opened = service.request("POST", "/v1/trial", fields={"email": email, "password": PASSWORD})
            assert opened.status_code == 200, opened.text
            with ThreadPoolExecutor(8) as threads:
                answers = list(threads.map(lambda number: _guessed(service, email, number), range(GUESSES)))
            compared = sum(each.status_code == 401 for each in answers)
            assert compared <= MOST_GUESSES, f"{compared} of {GUESSES} guesses were compared"
            assert all(each.headers["Retry-After"] for each in answers if each.status_code == 429)


def test_password_changes_by_one_key_keep_no_stranger_from_signing_in(service: AttackedService) -> None:
    email, key = f"stranger{service.number()}@hospital.example", service.sign_up()
    assert service.request("POST", "/v1/trial", fields={"email": email, "password": PASSWORD}).status_code == 200
    with service.attacked("90 password changes by one key"), ThreadPoolExecutor(90) as threads:
        changes = [
            threads.submit(service.request, "POST", "/v1/password", key=key, fields={"password": f"password {number}"})
            for number in range(90)
        ]
        waits = [_login_seconds(service, email) for _ in range(service.length.times(3, 10))]
        statuses = {each.result().status_code for each in changes}
    assert statuses <= {200, 429, 503}, statuses
    assert not service.length.is_timed or statistics.median(waits) <= LOGIN_SECONDS, waits


class _OwnerWithAnApp:
    """The owner of a new account, with a proven address, an authenticator app, and a browser that is signed in."""

    def __init__(self, service: AttackedService, box: Mailbox) -> None:
        self._service, self.email = service, f"owner{service.number()}@hospital.example"
        fields = {"email": self.email, "password": OWN}
        opened = service.request("POST", "/v1/trial", fields=fields).json()
        self.key, self.session = opened["api_key"], opened["session"]
        self.browser = _browser(service)
        link = _mailed_token(box, self.email, "/account/confirm")
        kept = self.browser.post("/account/confirm", data={"token": link, "choice": "keep", "password": OWN})
        assert kept.status_code == 200, kept.text
        assert self.browser.post("/login", data=fields).status_code == 303
        self.browser.post("/app/settings/authenticator", data={"begin": "yes"})
        page = self.browser.get("/app/settings/authenticator").text
        [secret] = re.findall(r'id="totp-secret">([A-Z2-7 ]+)<', page)
        self.app = pyotp.TOTP(secret.replace(" ", ""))
        page = self.browser.post(
            "/app/settings/authenticator/confirm", data={"code": self.app.at(time.time() - 30)}
        ).text
        self.recovery_codes = sorted(set(RECOVERY_CODE.findall(page)))

    def login(self, password: str, code: str, *, address: str) -> httpx2.Response:
        """Sign in over REST."""
        fields = {"email": self.email, "password": password, "code": code}
        return self._service.request("POST", "/v1/login", address=address, fields=fields)


def _browser(service: AttackedService) -> httpx2.Client:
    """Somebody's browser, at an address of its own."""
    headers = {"X-Forwarded-For": new_address(), "Sec-Fetch-Site": "same-origin"}
    limits = httpx2.Limits(max_keepalive_connections=0)
    return httpx2.Client(base_url=service.node.url, headers=headers, timeout=60, limits=limits)


def _member_of(service: AttackedService, key: str) -> dict[str, str]:
    """What a new member of an account signs in with."""
    member = {"email": f"member{service.number()}@trial.example", "password": PASSWORD}
    assert service.request("POST", "/v1/users", key=key, fields=member).status_code == 200
    return member


def _set_password(
    service: AttackedService, password: str, *, key: str = "", headers: Mapping[str, str] | None = None
) -> None:
    answer = service.request("POST", "/v1/password", key=key, headers=headers, fields={"password": password})
    assert answer.status_code == 200, answer.text


def _reset_token(service: AttackedService, box: Mailbox, email: str) -> str:
    """The token of the link that somebody is mailed."""
    service.request("POST", "/v1/password/forgot", fields={"email": email})
    return _mailed_token(box, email, "/password/reset")


def _mailed_token(box: Mailbox, email: str, path: str) -> str:
    """The token of the first link to a path that somebody is mailed."""
    looked = 0
    while True:
        mails = box.wait_for(looked + 1)
        for mail in mails[looked:]:
            if mail.recipient == email and (found := re.search(rf"{path}\?token=([\w.-]+)", mail.text)):
                return found[1]
        looked = len(mails)


def _whole_trail(service: AttackedService, key: str) -> list[dict[str, str]]:
    """Every line of an account's trail, newest first, page by page."""
    lines: list[dict[str, str]] = []
    address = "/v1/audit"
    while page := service.request("GET", address, key=key).json()["entries"]:
        lines += page
        address = f"/v1/audit?before={page[-1]['id']}"
    return lines


def _target(url: str) -> str:
    return "/" + url.split("/", 3)[3]


def _guessed(service: AttackedService, email: str, number: int) -> httpx2.Response:
    fields = {"email": email, "password": f"guess number {number}"}
    return service.request("POST", "/v1/login", address=_address_in_one_network(), fields=fields)


def _address_in_one_network() -> str:
    """An address of its own in one /48, each in another /64."""
    *_, third, fourth = new_address().split(".")
    return f"2001:db8:1:{int(third):x}{int(fourth):02x}::1"


def _login_seconds(service: AttackedService, email: str) -> float:
    began = time.monotonic()
    answer = service.request("POST", "/v1/login", fields={"email": email, "password": PASSWORD})
    assert answer.status_code == 200, answer.text
    return time.monotonic() - began
