"""Checks and cleans e-mail addresses, names and labels."""

import re
import unicodedata

from email_validator import EmailNotValidError, validate_email

from registerwatch.errors import InvalidInput

MAX_EMAIL_LENGTH = 254
MAX_LABEL_LENGTH = 80
MAX_NAME_LENGTH = 200
MAX_CLEANED_LENGTH = 4_000
"""Characters of a text that are cleaned; more would block the process."""

_BIDI_CONTROLS = re.compile(r"[\u202a-\u202e\u2066-\u2069\ufeff]")
"""Characters that change the direction of the text behind them, even outside of the text that contains them."""


def email_address(text: str) -> str:
    """An e-mail address in its stored form: normalized (RFC 6531), in lower case.

    Normalizing the result changes nothing. Raises `InvalidInput`. Whether the address receives mail is not checked.
    """
    return _normalized(_normalized(text.strip()).lower())  # lower case can add characters that compose


def label(text: str) -> str:
    """A label of a key: one line, at most 80 characters."""
    return one_line(text)[:MAX_LABEL_LENGTH].rstrip()


def company_name(text: str, email: str) -> str:
    """A company's name: one line; the domain of its e-mail address where none is given."""
    return one_line(text)[:MAX_NAME_LENGTH].rstrip() or email.rpartition("@")[2]


def one_line(text: str) -> str:
    """A text without control characters, line breaks, bidirectional controls and repeated spaces; cut to 4,000
    characters first.
    """
    text = text[:MAX_CLEANED_LENGTH]
    visible = unicodedata.normalize("NFC", _BIDI_CONTROLS.sub("", text))
    return " ".join("".join(" " if unicodedata.category(sign) in {"Cc", "Cs"} else sign for sign in visible).split())


def _normalized(address: str) -> str:
    if len(address) > MAX_EMAIL_LENGTH:
        raise InvalidInput("The e-mail address is too long.")
    try:
        valid = validate_email(address, check_deliverability=False, globally_deliverable=False)
    except EmailNotValidError as error:
        raise InvalidInput(f"This is no e-mail address: {error}") from None
    if "." not in valid.ascii_domain:
        raise InvalidInput("This is no e-mail address: the part after the @ needs a dot, as in name@example.org.")
    return valid.normalized
