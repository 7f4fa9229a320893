"""What the mails say."""

import pytest

from registerwatch.mail.texts import invitation, password_reset

LINK = "https://watch.example.org/password/reset?token=" + "x" * 86


@pytest.mark.parametrize("service", ["Registerwatch", "https://registerwatch.some-company.example.org:8443", "R&D <1>"])
def test_a_reset_mail_says_what_it_is_about_in_short_lines(service: str) -> None:
    mail = password_reset("bob@example.org", LINK, service, 60)

    assert mail.to == "bob@example.org"
    assert mail.subject == f"Set a new password at {service}"
    assert [line for line in mail.text.splitlines() if len(line) >= 78] == [LINK]
    assert mail.text.splitlines().count(service) == 1
    assert mail.text.endswith("\n")
    assert "\n\n\n" not in mail.text


@pytest.mark.parametrize(
    "said",
    [
        "asked for a new password for your account",
        "works once, for an hour",
        "If you did not ask for it, you need not do anything",
        "will ever ask you for your password",
    ],
)
def test_a_reset_mail_says_what_its_reader_needs_to_know(said: str) -> None:
    assert said in password_reset("bob@example.org", LINK, "Registerwatch", 60).text


@pytest.mark.parametrize(
    ("minutes", "lasts"), [(30, "30 minutes"), (60, "an hour"), (90, "90 minutes"), (120, "2 hours")]
)
def test_how_long_a_link_works_is_said_in_plain_words(minutes: int, lasts: str) -> None:
    assert f"once, for {lasts} from" in password_reset("bob@example.org", LINK, "Registerwatch", minutes).text


@pytest.mark.parametrize("name", ["Acme Hospital", "St. Mary’s (Trust)", "Klinikum Köln 2030", "word " * 40])
def test_an_invitation_names_the_account_in_short_lines(name: str) -> None:
    mail = invitation("bob@example.org", LINK, "https://watch.example.org", "ann@acme.example", name, 7)

    assert f"the account\n“{name[:60].rstrip()}” at\n" in mail.text
    assert [line for line in mail.text.splitlines() if len(line) >= 78] == [LINK]
    assert "\n\n\n" not in mail.text


@pytest.mark.parametrize(
    "name",
    ["https://evil.example", "evil.example", "Go to evil。example", "a@evil", "call +49 (221) 555-0199", "e／f", "x:y"],
)
def test_an_invitation_leaves_out_a_name_that_leads_elsewhere(name: str) -> None:
    mail = invitation("bob@example.org", LINK, "https://watch.example.org", "ann@acme.example", name, 7)

    assert "invites you to join their account at\n" in mail.text
    assert name not in mail.text
