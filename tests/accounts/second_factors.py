"""Users with second factors, as tests set them up."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyotp

from registerwatch.accounts.models import Caller
from registerwatch.accounts.second_factors.totp import STEP_SECONDS
from registerwatch.accounts.use_cases import Accounts
from tests.support.fakes import SteppedClock

RECOVERY_CODE = re.compile(r"\b[a-z2-9]{6}(?:-[a-z2-9]{6}){3}\b")


@dataclass(frozen=True, slots=True)
class App:
    """A phone with an authenticator app."""

    secret: str = field(repr=False)
    clock: SteppedClock
    recovery_codes: Sequence[str]

    def code(self, steps: int = 0) -> str:
        """What it shows now, or so many steps later."""
        return pyotp.TOTP(self.secret).at(int(self.clock.now()) + steps * STEP_SECONDS)

    def next_code(self) -> str:
        """What it shows when the present code, which may have been used, is over."""
        self.clock.move(STEP_SECONDS)
        return self.code()


async def app_of(accounts: Accounts, caller: Caller, clock: SteppedClock) -> App:
    """Set up an authenticator app for a user. Its present code is used."""
    secret = (await accounts.second_factors.begin_totp(caller)).secret
    app = App(secret, clock, ())
    return App(secret, clock, await accounts.second_factors.confirm_totp(caller, app.code()))
