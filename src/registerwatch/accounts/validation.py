"""What people type about themselves: e-mail addresses, names, labels."""

import re
import unicodedata

from email_validator import EmailNotValidError, validate_email

from registerwatch.errors import InvalidInput

MAX_EMAIL_LENGTH = 254
MAX_LABEL_LENGTH = 80
MAX_NAME_LENGTH = 200
LOOKED_AT = 4_000
"""Characters that are cleaned; more would hold up everybody."""

_UNSEEN = re.compile(r"[\u202a-\u202e\u2066-\u2069\ufeff]")
"""Signs that turn the direction of what follows them, beyond the text that they stand in."""


def email_address(text: str) -> str:
    """An e-mail address in the form by which it is kept and found: normalized (RFC 6531), in lower case.

    That form is an address itself, and its own. Raises `InvalidInput`. Whether the address takes mail is not asked.
    """
    return _normalized(_normalized(text.strip()).lower())  # a sign in lower case can be two, or compose with the next


def label(text: str) -> str:
    """A label of a key: one line, at most 80 characters."""
    return one_line(text)[:MAX_LABEL_LENGTH].rstrip()


def company_name(text: str, email: str) -> str:
    """A company's name: one line; the domain of its e-mail address where none is given."""
    return one_line(text)[:MAX_NAME_LENGTH].rstrip() or email.rpartition("@")[2]


def one_line(text: str) -> str:
    """A text without control characters, line breaks, signs that turn its direction, and doubled spaces.

    Of a very long one the beginning.
    """
    text = text[:LOOKED_AT]
    seen = unicodedata.normalize("NFC", _UNSEEN.sub("", text))
    return " ".join("".join(" " if unicodedata.category(sign) in {"Cc", "Cs"} else sign for sign in seen).split())


def _normalized(address: str) -> str:
    if len(address) > MAX_EMAIL_LENGTH:
        raise InvalidInput("The e-mail address is too long.")
    try:
        valid = validate_email(address, check_deliverability=False, globally_deliverable=False)
    except EmailNotValidError as error:
        raise InvalidInput(f"This is no e-mail address: {error}") from None
    if "." not in valid.ascii_domain:
        raise InvalidInput("This is no e-mail address: what stands after the @ needs a dot, as in name@example.org.")
    return valid.normalized
