"""The texts of mails. Lines have fewer than 78 characters, except for links, which are never wrapped."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from registerwatch.mail.mailer import Mail

MAX_SHOWN_NAME = 60
LIKE_AN_ADDRESS = re.compile(r"[/\\@:]|[\w-][.。]\w|\d[\d ()-]{4,}\d")


def password_reset(to: str, link: str, service: str, minutes: int) -> Mail:
    """A mail with a link that sets a new password. `service` is the public URL of the service."""
    text = _environment().get_template("password_reset.txt").render(link=link, service=service, lasts=_span(minutes))
    return Mail(to, f"Set a new password at {service}", text)


def confirmation(to: str, link: str, service: str, days: int) -> Mail:
    """A mail with a link that proves an address. It holds nothing that a stranger chose."""
    text = _environment().get_template("confirmation.txt").render(link=link, service=service, days=days)
    return Mail(to, f"Is this your account at {service}?", text)


def invitation(to: str, link: str, service: str, invited_by: str, account_name: str, days: int) -> Mail:
    """A mail with a link that makes somebody a member of an account. `invited_by` is a proven address.

    The account's name is left out where it could be taken for an address or a telephone number to follow.
    """
    template = _environment().get_template("invitation.txt")
    return Mail(
        to,
        f"An invitation to {service}",
        template.render(
            link=link, service=service, invited_by=invited_by, account_name=_shown_name(account_name), days=days
        ),
    )


def notice(to: str, kind: str, line: str, service: str, most: int) -> Mail:
    """A mail to an owner about a change: when, by whom, and what."""
    text = _environment().get_template("notice.txt").render(line=line, service=service, most=most)
    return Mail(to, f"Changed in your account at {service}: {kind}", text)


def sign_in_notice(to: str, line: str, service: str, most: int) -> Mail:
    """A mail about a sign-in from elsewhere, to its user: when, from which address."""
    text = _environment().get_template("sign_in_notice.txt").render(line=line, service=service, most=most)
    return Mail(to, f"A sign-in from a new place at {service}", text)


def operators_test(to: str, service: str) -> Mail:
    """A mail that an operator sends to see whether mails arrive."""
    text = _environment().get_template("test_mail.txt").render(service=service)
    return Mail(to, f"A test of mails from {service}", text)


def deletion_notice(to: str, service: str, at: str) -> Mail:
    """A mail that announces to an owner when their old trial is deleted."""
    text = _environment().get_template("deletion_notice.txt").render(service=service, at=at)
    return Mail(to, f"Your old trial at {service} will be deleted", text)


def period_notice(to: str, service: str, at: str, *, is_trial: bool, has_ended: bool, takes_payments: bool) -> Mail:
    """A mail to an owner that the trial or another period of their account ends or has ended: when, what stops then,
    and how to go on. `at` is the instant in words.
    """
    template = _environment().get_template("period_notice.txt")
    text = template.render(
        service=service, at=at, is_trial=is_trial, has_ended=has_ended, takes_payments=takes_payments
    )
    what = "Your trial" if is_trial else "Your account's period"
    return Mail(to, f"{what} at {service} {'has ended' if has_ended else 'ends on ' + at.partition(',')[0]}", text)


def channels_failing(
    to: str, service: str, failing: Sequence[tuple[str, str]], given_up: Sequence[tuple[str, str]]
) -> Mail:
    """A mail to an owner about failing channels, and those that are paused now: each by name, since when and why."""
    text = _environment().get_template("channels_failing.txt")
    subject = f"Changes do not arrive: channels at {service} " + ("are paused" if given_up else "fail")
    return Mail(to, subject, text.render(service=service, failing=failing, given_up=given_up))


def _shown_name(name: str) -> str:
    name = unicodedata.normalize("NFKC", name)
    return "" if LIKE_AN_ADDRESS.search(name) else name[:MAX_SHOWN_NAME].rstrip()


def _span(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    if rest or not hours:
        return f"{minutes} minutes"
    return "an hour" if hours == 1 else f"{hours} hours"


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("registerwatch.mail"),
        autoescape=False,  # noqa: S701  # plain text: escapes would be visible
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        auto_reload=False,
    )
