"""Operations on the targets of an account, in any channel: add, choose, pause, remove.

A target belongs to the account, or to one user: their e-mail address. Owners manage those of the account; each user
their own. An owner may turn off the address of another user, not on.
"""

from collections.abc import Mapping, Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.audit.audit import Action
from registerwatch.accounts.models import Caller, Role
from registerwatch.accounts.notices import AccountNotices, NoticeKind
from registerwatch.accounts.profile import UTC, zone_of
from registerwatch.accounts.repository import locked, note_by
from registerwatch.errors import CapReached, InvalidInput, OwnerOnly
from registerwatch.mail.mailer import Mail
from registerwatch.notifications.channels import Channel
from registerwatch.notifications.choice_check import check_bounds, checked_names, known_names
from registerwatch.notifications.choices import EVERYTHING, Choice, Frequency
from registerwatch.notifications.delivery import waiting_deliveries
from registerwatch.notifications.models import EMAIL, MAX_TARGETS, Delivery, Target
from registerwatch.notifications.targets import channel_repository, target_repository
from registerwatch.notifications.targets.channel_models import (
    MAX_PAUSE_SECONDS,
    ChannelChange,
    ChannelList,
    ListedChannel,
    NewChannel,
)
from registerwatch.notifications.targets.channel_state import Access, access_to, state_of
from registerwatch.notifications.targets.target_addresses import StoredAddress, stored_address
from registerwatch.notifications.targets.target_changes import columns_of, difference, pause_of_account, shown_name
from registerwatch.notifications.targets.target_secrets import TargetSecrets
from registerwatch.notifications.targets.targets import TargetService, TestResult
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.row_pages import RowPage
from registerwatch.platform.structs import replace

NO_CHANNEL = "There is no channel `{name}` here. There are: {names}."
NO_CHANNEL_ANY_MORE = "Nothing is sent by this channel here any more."
NO_URL = "Say with `url` where it leads."
NO_URL_OF_EMAIL = "E-mail goes to your own address. Leave `url` out."
ZONE_OF_USER = "E-mail goes by the time zone of its user, which is in the user's settings. Leave `time_zone` out."
NO_USER = "E-mail belongs to a user. Sign in as that user; an API key has no address."
EMAIL_THERE = "Your e-mail address is there already. Change what it is told instead."
NO_SUCH = "The account has no channel with this id."
OWNERS_ONLY = "A member may do this with their own e-mail alone; ask an owner, or use an API key."
ONLY_OFF = "This is the address of another user: you may turn it off or remove it. The rest is up to them."
BAD_PAUSE = "The pause ends at a time to come, at most 90 days from now."


class ChannelService:
    """The use cases of targets over all channels. `targets` make tests, by the names of their channels."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        channels: Mapping[str, Channel],
        targets: Mapping[str, TargetService],
        notices: AccountNotices,
        secrets: TargetSecrets,
    ) -> None:
        self._database = database
        self._clock = clock
        self._channels = channels
        self._targets = targets
        self._notices = notices
        self._secrets = secrets

    @property
    def channels(self) -> Sequence[Channel]:
        """The channels of this service."""
        return list(self._channels.values())

    async def all(self, caller: Caller) -> ChannelList:
        """Every target that the caller may see: an owner all, a member their own. Oldest first."""
        found = await self.of_account(caller)
        return replace(found, channels=[each for each in found.channels if each.access is not Access.NONE])

    async def of_account(self, caller: Caller) -> ChannelList:
        """Every target of the account and of all its users. Members do not see the addresses of these."""
        async with self._database.reading() as connection:
            found, until = await channel_repository.with_pause(connection, caller.account.id)
        is_paused = until is not None and until > self._clock.now()
        return ChannelList([self._listed(each, caller) for each in found], until if is_paused else None)

    async def get(self, caller: Caller, target_id: int) -> ListedChannel:
        """One target. Raises `InvalidInput` where there is none with this id; `OwnerOnly` for a member, then too."""
        async with self._database.reading() as connection:
            return self._listed(await self._visible(connection, caller, target_id), caller)

    async def add(self, caller: Caller, new: NewChannel) -> ListedChannel:
        """Add a target. Raises `InvalidInput`, `OwnerOnly`, `CapReached`."""
        channel = self._channel(new.channel)
        check_bounds(new.choice)
        now, columns = int(self._clock.now()), self._columns(caller, channel, new)
        async with self._database.transaction() as connection:
            await locked(connection, caller)
            await self._require_capacity(connection, caller, channel)
            columns |= columns_of(choice=await self._checked(connection, caller, new.choice))
            target_id = await target_repository.add(connection, caller.account.id, columns, now)
            target = await self._visible(connection, caller, target_id)
            await note_by(connection, caller, now, Action.CHANNEL_CHANGED, f"{shown_name(target)}: added")
            notices = await self._mails_about(connection, caller, target, "added")
        self._notices.send(notices)
        return self._listed(target, caller)

    async def change(self, caller: Caller, target_id: int, change: ChannelChange) -> ListedChannel:
        """Change a target. Waiting digests are due at the earlier of their time and the new one; what waits for a
        target that is turned off or paused is dropped. Raises `InvalidInput`, `OwnerOnly`.
        """
        if change.choice is not None:
            check_bounds(change.choice)
        now = int(self._clock.now())
        async with self._database.transaction() as connection:
            await locked(connection, caller)
            await channel_repository.lock(connection, caller.account.id, target_id)
            before = await self._visible(connection, caller, target_id)
            columns = await self._changed_columns(connection, caller, before, change)
            if columns:
                await target_repository.change(connection, caller.account.id, target_id, columns)
            after = await self._visible(connection, caller, target_id)
            await waiting_deliveries.reschedule(connection, before, after, now)
            if said := difference(before, after):
                await note_by(connection, caller, now, Action.CHANNEL_CHANGED, f"{shown_name(after)}: {said}")
        return self._listed(after, caller)

    async def remove(self, caller: Caller, target_id: int) -> None:
        """Remove a target with its deliveries, if there is one that the caller may see. Raises `OwnerOnly`."""
        now = int(self._clock.now())
        async with self._database.transaction() as connection:
            await locked(connection, caller)
            try:
                target = await self._visible(connection, caller, target_id)
            except InvalidInput:
                return
            await target_repository.remove(connection, caller.account.id, target_id)
            await note_by(connection, caller, now, Action.CHANNEL_CHANGED, f"{shown_name(target)}: removed")
            notices = await self._mails_about(connection, caller, target, "removed")
        self._notices.send(notices)

    async def pause(self, caller: Caller, until: int | None) -> None:
        """Make all notifications of the account wait until an instant, at most 90 days; None ends that, and what waited
        is due. Raises `InvalidInput`, `OwnerOnly`.
        """
        now = int(self._clock.now())
        if caller.role is not Role.OWNER:
            raise OwnerOnly(OWNERS_ONLY)
        if until is not None and not now < until <= now + MAX_PAUSE_SECONDS:
            raise InvalidInput(BAD_PAUSE)
        async with self._database.transaction() as connection:
            await locked(connection, caller)
            await channel_repository.lock(connection, caller.account.id)
            await channel_repository.set_paused_until(connection, caller.account.id, until)
            waiting = await channel_repository.waiting(connection, caller.account.id, now)
            if until is None:
                ids = [each.id for each in waiting if waiting_deliveries.is_of_pause(each)]
                await channel_repository.set_due(connection, caller.account.id, ids, now)
            else:
                found = await channel_repository.of_account(connection, caller.account.id)
                time = waiting_deliveries.time_of_pause(until)
                held = waiting_deliveries.held_by_pause(waiting, time)
                await waiting_deliveries.move(connection, {each.id: each for each in found}, held, time, now)
            await note_by(connection, caller, now, Action.CHANNEL_CHANGED, pause_of_account(until))

    async def test(self, caller: Caller, target_id: int) -> TestResult:
        """Send a test to a target. A success ends a pause that failures caused. Raises `InvalidInput`, `OwnerOnly`."""
        async with self._database.reading() as connection:
            target = await self._full(connection, caller, target_id)
        return await self._service_of(target).test(caller, target_id)

    async def log_page(self, caller: Caller, target_id: int, *, after: str | None, limit: int) -> RowPage[Delivery]:
        """Deliveries to a target, newest first. Raises `InvalidInput`, `OwnerOnly`."""
        target = (await self.get(caller, target_id)).target
        return await self._service_of(target).log_page(caller, target_id, after=after, limit=limit)

    async def send_again(self, caller: Caller, target_id: int, delivery_id: str) -> None:
        """Send a delivery that has ended once more, as it was. Raises `InvalidInput`, `OwnerOnly`."""
        async with self._database.reading() as connection:
            target = await self._full(connection, caller, target_id)
        await self._service_of(target).send_again(caller, target_id, delivery_id)

    def _listed(self, target: Target, caller: Caller) -> ListedChannel:
        opened = self._secrets.opened(target)
        channel = self._channels.get(target.channel)
        problem = NO_CHANNEL_ANY_MORE if channel is None else channel.problem(opened)
        return ListedChannel(opened, state_of(opened, problem), problem, access_to(opened, caller))

    def _channel(self, name: str) -> Channel:
        if name not in self._channels:
            raise InvalidInput(NO_CHANNEL.format(name=name[:40], names=", ".join(sorted(self._channels))))
        return self._channels[name]

    def _service_of(self, target: Target) -> TargetService:
        self._channel(target.channel)
        return self._targets[target.channel]

    def _columns(self, caller: Caller, channel: Channel, new: NewChannel) -> dict[str, object]:
        """The columns of a new target beside its choice."""
        address = _address(caller, channel, new)
        return {
            "channel": channel.name,
            "url": address.url,
            "secret": self._secrets.sealed(caller.account.id, address.secret),
            "user_id": caller.user_id if channel.name == EMAIL else None,
            **columns_of(name=new.name, time_zone=zone_of(new.time_zone), repeats=new.repeats),
        }

    async def _checked(
        self, connection: AsyncConnection, caller: Caller, choice: Choice, before: Choice = EVERYTHING
    ) -> Choice:
        return checked_names(choice, await known_names(connection, caller.account.id, choice), before)

    async def _changed_columns(
        self, connection: AsyncConnection, caller: Caller, before: Target, change: ChannelChange
    ) -> dict[str, object]:
        choice = change.choice
        if access_to(before, caller) is Access.SILENCE:
            if not _only_turns_off(change):
                raise InvalidInput(ONLY_OFF)
            choice = replace(before.choice, frequency=Frequency.OFF)
        elif choice is not None:
            choice = await self._checked(connection, caller, choice, before.choice)
        zone = None if change.time_zone is None else zone_of(change.time_zone)
        if zone is not None and before.user_id is not None:
            raise InvalidInput(ZONE_OF_USER)
        columns = columns_of(name=change.name, choice=choice, time_zone=zone, repeats=change.repeats)
        if change.is_paused is not None and change.is_paused is not (before.paused_at is not None):
            paused_at = int(self._clock.now()) if change.is_paused else None
            columns |= {"paused_at": paused_at, "paused_reason": ""}
            columns |= {} if change.is_paused else {"failing_since": None}
        return columns

    async def _require_capacity(self, connection: AsyncConnection, caller: Caller, channel: Channel) -> None:
        if channel.name == EMAIL:
            found = await channel_repository.of_account(connection, caller.account.id)
            if any(each.user_id == caller.user_id and each.channel == EMAIL for each in found):
                raise CapReached(EMAIL_THERE)
        elif await channel_repository.count(connection, caller.account.id, channel.name) >= MAX_TARGETS:
            raise CapReached(f"An account has at most {MAX_TARGETS} {channel.name} addresses.")

    async def _visible(self, connection: AsyncConnection, caller: Caller, target_id: int) -> Target:
        target = await target_repository.by_id(connection, caller.account.id, target_id)
        if target is not None and access_to(target, caller) is not Access.NONE:
            return target
        raise InvalidInput(NO_SUCH) if caller.role is Role.OWNER else OwnerOnly(OWNERS_ONLY)

    async def _full(self, connection: AsyncConnection, caller: Caller, target_id: int) -> Target:
        target = await self._visible(connection, caller, target_id)
        if access_to(target, caller) is not Access.FULL:
            raise InvalidInput(ONLY_OFF)
        return target

    async def _mails_about(
        self, connection: AsyncConnection, caller: Caller, target: Target, what: str
    ) -> Sequence[Mail]:
        """The mails to owners, but not about a user's own address."""
        if target.user_id is not None and target.user_id == caller.user_id:
            return ()
        return await self._notices.prepare(connection, caller, NoticeKind.CHANNELS, f"{what} {shown_name(target)}")


def _address(caller: Caller, channel: Channel, new: NewChannel) -> StoredAddress:
    """The checked address of a new target. Raises `InvalidInput`, `OwnerOnly`."""
    if channel.name == EMAIL:
        if caller.user_id is None:
            raise InvalidInput(NO_USER)
        if new.url.strip() and new.url.strip().casefold() != caller.name.casefold():
            raise InvalidInput(NO_URL_OF_EMAIL)
        if new.time_zone != UTC:
            raise InvalidInput(ZONE_OF_USER)
        return StoredAddress(caller.name, channel.new_secret())
    if caller.role is not Role.OWNER:
        raise OwnerOnly(OWNERS_ONLY)
    if not new.url.strip():
        raise InvalidInput(NO_URL)
    return stored_address(channel, new.url)


def _only_turns_off(change: ChannelChange) -> bool:
    """Whether a change only turns a target off."""
    is_off = change.choice is not None and change.choice.frequency is Frequency.OFF
    others = (change.name, change.time_zone, change.repeats, change.is_paused)
    return is_off and all(each is None for each in others)
