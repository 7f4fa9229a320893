"""The most common passwords, and those that an address reveals.

Source: the list of the package zxcvbn (MIT), 30,000 passwords of published leaks; 11,611 of them have eight characters
or more. Only its file is loaded: the rest of the package builds tables that are not needed here.
"""

import unicodedata
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

from registerwatch.errors import InvalidInput

MIN_LENGTH = 8
"""Shorter ones cannot be set anyway."""
TOO_COMMON = "This is one of the most common passwords, which is tried first. Choose another one."
GIVEN_AWAY = "Your e-mail address gives this password away. Choose another one."


def refuse_common(password: str, email: str) -> None:
    """Raise `InvalidInput` for a common password, or one that can be guessed from the e-mail address.

    The first call takes some 10 milliseconds.
    """
    plain = _plain(password)
    if plain in _common():
        raise InvalidInput(TOO_COMMON)
    local_part, _, domain = _plain(email).partition("@")
    if plain in {_plain(email), local_part, domain, domain.partition(".")[0]}:
        raise InvalidInput(GIVEN_AWAY)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


@cache
def _common() -> frozenset[str]:
    package = find_spec("zxcvbn")
    assert package is not None, "it is a dependency"
    assert package.origin is not None, "it is a package of files"
    spec = spec_from_file_location("zxcvbn_frequency_lists", Path(package.origin).with_name("frequency_lists.py"))
    assert spec is not None, "the file is a module"
    assert spec.loader is not None, "the file is a module"
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return frozenset(each.casefold() for each in module.FREQUENCY_LISTS["passwords"] if len(each) >= MIN_LENGTH)
