"""What every surface tells of devices and actors."""

from collections.abc import Awaitable, Callable

from registerwatch.errors import InvalidInput
from registerwatch.register.actors import ActorAnswer, ActorService
from registerwatch.register.devices import NoDevice
from registerwatch.register.identifiers import MAX_LENGTH, subject
from registerwatch.web.filters import filters_of, page_of


def no_device_object(answer: NoDevice) -> dict[str, object]:
    """A device that cannot be shown, and why."""
    return {"found": False, "udi": answer.udi, "error": answer.reason}


async def actor_answer(
    actors: ActorService,
    srn: str,
    count: Callable[[], Awaitable[None]],
    *,
    status: str = "",
    risk: str = "",
    page: str = "",
) -> ActorAnswer:
    """An actor, whatever was sent: what makes no sense is told in `error`. `count` is asked before the register is."""
    try:
        code, filters, number = subject(srn), filters_of(status, risk), page_of(page)
    except InvalidInput as error:
        return ActorAnswer(srn[:MAX_LENGTH], error=str(error))
    if not await actors.is_stored(code):
        await count()
    return await actors.actor(code, filters, page=number)
