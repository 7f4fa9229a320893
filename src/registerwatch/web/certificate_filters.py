"""Reads filters of certificates from a query: empty values mean nothing, impossible values are refused."""

import re
from collections.abc import Iterable, Sequence
from datetime import date

from registerwatch.copy.certificates.certificate_numbers import plain_number
from registerwatch.copy.certificates.certificate_queries import CertificateSelection
from registerwatch.errors import InvalidInput
from registerwatch.lookup.certificate_service import ID_PATTERN
from registerwatch.register.codes import CERTIFICATE_STATUS_PREFIX, CERTIFICATE_STATUSES
from registerwatch.register.identifiers import kind, subject

MAX_NUMBER_LENGTH = 120
STATUS_PATTERN = r"refdata\.certificate-status\.[a-z0-9-]{1,60}"
BODY_PATTERN = "[0-9]{4}"
FILTERS = "number, srn, notified_body, status, expires_before"

_STATUS_CODE, _BODY, _ID = re.compile(STATUS_PATTERN), re.compile(BODY_PATTERN), re.compile(ID_PATTERN)


def selection_of(
    *, number: str, srn: str, notified_body: str, statuses: Sequence[str], expires_before: str
) -> CertificateSelection:
    """The selection in query parameters. Raises `InvalidInput`, which says what is possible."""
    selection = CertificateSelection(
        number_of(number),
        srn_of(srn) if srn else None,
        _notified_body(notified_body),
        status_codes(statuses),
        _date(expires_before),
    )
    if selection == CertificateSelection():
        raise InvalidInput(f"Send at least one of {FILTERS}.")
    return selection


def srn_of(text: str) -> str:
    """An SRN in capitals, without white space. Raises `InvalidInput` for anything else."""
    srn = subject(text)
    if kind(srn) != "srn":
        raise InvalidInput("This is no SRN. An SRN has the form CC-XX-digits, such as DE-MF-000006413.")
    return srn


def number_of(text: str) -> str | None:
    """A plain certificate number; None for an empty one. Raises `InvalidInput` for one that no database can hold."""
    if len(text) > MAX_NUMBER_LENGTH:
        raise InvalidInput(f"A certificate number has at most {MAX_NUMBER_LENGTH} characters.")
    if "\0" in text:
        raise InvalidInput("A certificate number has no NUL character.")
    return plain_number(text) or None


def status_codes(texts: Iterable[str]) -> tuple[str, ...]:
    """The register's codes for statuses in short words or codes, each alone or several with commas."""
    words = [word.strip().lower() for text in texts for word in text.split(",") if word.strip()]
    return tuple(dict.fromkeys(map(_status_code, words)))


def after_of(text: str) -> str | None:
    """The id after which a page begins; None for an empty one."""
    if text and not _ID.fullmatch(text):
        raise InvalidInput("`after` is the `id` of the last certificate of the page before.")
    return text or None


def _status_code(word: str) -> str:
    if word in CERTIFICATE_STATUSES:
        return CERTIFICATE_STATUS_PREFIX + word
    if _STATUS_CODE.fullmatch(word):
        return word
    known = ", ".join(CERTIFICATE_STATUSES)
    raise InvalidInput(
        f"There is no certificate status “{word[:40]}”; known are {known}, and the register’s codes, such as"
        f" {CERTIFICATE_STATUS_PREFIX}suspended."
    )


def _notified_body(text: str) -> str | None:
    body = "".join(text.split())
    if body and not _BODY.fullmatch(body):
        raise InvalidInput("A notified body has a number of four digits, such as 0633.")
    return body or None


def _date(text: str) -> str | None:
    if not text:
        return None
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise InvalidInput("`expires_before` is a date, such as 2027-01-31.") from None
