"""Slots for large bodies of accounts: each is received whole, so few are at a time.

Client networks share them fairly, and none has more than half, so that slow bodies do not keep others out.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from starlette.requests import Request
from starlette.types import Message, Receive

from registerwatch.errors import InvalidInput
from registerwatch.platform.account_slots import AccountSlots, enter_within
from registerwatch.web.injection import client_of
from registerwatch.web.limits.body_limits import MAX_BODY_BYTES, max_body_bytes
from registerwatch.web.limits.least_rate import LeastRate

MAX_RECEIVED, MAX_RECEIVED_OF_ACCOUNT = 64, 2
"""Bodies of more than 64 KiB that one process receives at a time, 128 MiB at most; and of an account all bodies."""
FILE_BYTES, MAX_FILES_RECEIVED = 2 * 1024 * 1024, 8
"""Paths with a higher limit are those of files, which are received 8 at a time: 80 MiB at most."""
MAX_PHOTOS, MAX_PHOTOS_OF_ACCOUNT = 8, 2
"""Photos that one process receives, holds and has read at a time, 80 MiB at most; and of an account."""
WAIT_SECONDS = 5.0
"""How long a body waits for its slot; then the client is to try again, instead of keeping its connection."""
FREE_BYTES, MAX_BYTES_A_SECOND = 2 * 1024 * 1024, 16 * 1024 * 1024
"""What follows the first 2 MiB of a body is received at this rate at most, so that who sends one large body after the
other does not use up a core: to receive 10 MiB takes 16 ms of the processor.
"""
LONG_ENOUGH_SECONDS = 0.1
"""A shorter pause would cost more than it saves."""
TOO_SLOW = "The body came too slowly: after its first 64 KiB it has to come with 64 KiB a second."
BUSY = "Many files are being sent at the moment. Send yours again in a few seconds."
BUSY_ACCOUNT = "Other files of this account are being sent. Send this one again when they have arrived."


@asynccontextmanager
async def slot_for_body(request: Request, account_id: int, slots: AccountSlots | None = None) -> AsyncIterator[Request]:
    """The request with a body that waits for its slot: one of `slots`, else of the application's `state.large_bodies`,
    or of its `state.large_files` where the path takes files.
    """
    if slots is None:
        is_file = max_body_bytes(request.scope["path"]) > FILE_BYTES
        slots = request.app.state.large_files if is_file else request.app.state.large_bodies
    async with AsyncExitStack() as held:
        await enter_within(WAIT_SECONDS, held, slots.own_slot(account_id), otherwise=BUSY_ACCOUNT)
        slot = slots.shared_slot(client_of(request).network)
        yield Request(request.scope, _in_slot(request.receive, slot, held))


def large_body_slots() -> AccountSlots:
    """Slots for an application's `state.large_bodies`."""
    return _slots(MAX_RECEIVED, MAX_RECEIVED_OF_ACCOUNT)


def file_slots() -> AccountSlots:
    """Slots for an application's `state.large_files`."""
    return _slots(MAX_FILES_RECEIVED, 1)


def photo_slots() -> AccountSlots:
    """Slots for an application's `state.photos`."""
    return _slots(MAX_PHOTOS, MAX_PHOTOS_OF_ACCOUNT)


def _slots(most: int, most_per_account: int) -> AccountSlots:
    return AccountSlots(most=most, most_per_account=most_per_account, most_per_network=most // 2)


def _in_slot(receive: Receive, slot: AbstractAsyncContextManager[None], held: AsyncExitStack) -> Receive:
    """Receive a body, which waits for a shared slot once more than 64 KiB of it have come, and must not be slow then.

    A silent client takes no shared slot.
    """
    begun = time.monotonic()
    received = 0
    rate: LeastRate | None = None

    async def receiving() -> Message:
        nonlocal received, rate
        began = time.monotonic()
        try:
            async with asyncio.timeout(None if rate is None else rate.seconds_left):
                message = await receive()
        except TimeoutError:
            raise InvalidInput(TOO_SLOW) from None
        length = len(message.get("body", b""))
        received += length
        if received - length <= MAX_BODY_BYTES < received:
            await enter_within(WAIT_SECONDS, held, slot, otherwise=BUSY)
            rate = LeastRate()
        elif rate is not None:
            rate.note(length, time.monotonic() - began)
        if not message.get("more_body", False):
            rate = None
        ahead = (received - FREE_BYTES) / MAX_BYTES_A_SECOND - (time.monotonic() - begun)
        if ahead > LONG_ENOUGH_SECONDS:
            await asyncio.sleep(ahead)
        return message

    return receiving
