"""The loops of the background: what each does, and how often. Each one runs until cancelled, whatever errors occur."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import structlog

from registerwatch.accounts.old_trials import OldTrialService
from registerwatch.accounts.prune import AccountPruner
from registerwatch.accounts.sessions.credential_uses import CredentialUses
from registerwatch.background.run_forever import run_forever
from registerwatch.billing.cancellation import SubscriptionUpkeep
from registerwatch.billing.period_notices import PeriodNotices
from registerwatch.copy.history.history_prune import HistoryPruner
from registerwatch.copy.search.indexer import Indexer
from registerwatch.copy.unread_fields import UnreadFieldStore
from registerwatch.files.lists.worker import ListWorker
from registerwatch.ingest.checks.register_checks import RegisterChecks
from registerwatch.ingest.daily_load import DailyLoad
from registerwatch.ingest.sweeps.certificate_sweep import CertificateSweep
from registerwatch.ingest.sweeps.device_sweep import SIDE_BY_SIDE, DeviceSweeper
from registerwatch.notifications.bounces.bounce_mailbox import BounceReader
from registerwatch.notifications.delivery.delivery import MAX_MAILS_AT_ONCE, DeliveryService
from registerwatch.notifications.delivery.worker import IDLE_MAIL_SECONDS, DeliveryWorker
from registerwatch.notifications.targets.channel_upkeep import ChannelUpkeep
from registerwatch.platform.db.run_uncancelled import run_uncancelled
from registerwatch.platform.db.schedule import Schedule
from registerwatch.watches.news.expiry import ExpiryService
from registerwatch.watches.reading.recheck import RecheckService

INDEX_SECONDS = 0.5
DAILY_LOAD_SECONDS = 60.0
RECHECK_LOOK_SECONDS = 5.0
SWEEP_LOOK_SECONDS = 5.0
CERTIFICATES_LOOK_SECONDS = 30.0
PRUNE_SECONDS = 3600.0
CREDENTIAL_USES_SECONDS = 30.0
UNREAD_FIELDS_SECONDS = 60.0
DELIVERIES_KEPT_SECONDS = 30 * 24 * 3600

log = structlog.get_logger(__name__)


class Slots(msgspec.Struct, frozen=True):
    """Work that one process of the fleet does in every slot of `every` seconds; each process tries to claim the slot
    every `look` seconds. `problem` is logged where the work fails.
    """

    name: str
    every: float
    look: float
    problem: str


SCOPES = Slots("certificate scopes", 60.0, look=20.0, problem="scopes of certificates could not be read")
SWEEP_QUEUE = Slots(
    "sweep queue", 60.0, look=SWEEP_LOOK_SECONDS, problem="the queue of the sweep could not be refreshed"
)
REGISTER_CHECKS = Slots("register checks", 300.0, look=60.0, problem="the register could not be checked")
EXPIRY = Slots("expiry", 600.0, look=30.0, problem="ends of certificates could not be told")
BOUNCES = Slots("bounces", 60.0, look=15.0, problem="undeliverable mails could not be read")
CHANNELS = Slots("channels", 600.0, look=60.0, problem="failing channels could not be told")
SUBSCRIPTIONS = Slots("payments", 60.0, look=10.0, problem="subscriptions could not be synchronized")
OLD_TRIALS = Slots("old trials", 24 * 3600.0, look=600.0, problem="old trials could not be deleted")
PERIODS = Slots("period notices", 600.0, look=60.0, problem="ends of periods could not be mailed")
LISTS = Slots("lists", 15.0, look=5.0, problem="lists could not be brought up to the copy")


async def _in_slots(slots: Slots, schedule: Schedule, work: Callable[[], Awaitable[object]]) -> None:
    async def run() -> None:
        if await schedule.claim(slots.name, slots.every):
            await work()

    await run_forever(run, every=slots.look, problem=slots.problem)


async def index(indexer: Indexer) -> None:
    """Keep this node's search index up to date with the copy."""
    await run_forever(indexer.catch_up, every=INDEX_SECONDS, problem="the search index could not be updated")


async def store_credential_uses(uses: CredentialUses) -> None:
    """Store when keys and sessions were last used."""
    await run_forever(uses.store, every=CREDENTIAL_USES_SECONDS, problem="uses of credentials could not be stored")


async def store_unread_fields(store: UnreadFieldStore) -> None:
    """Store which fields of the register's records could not be read."""
    await run_forever(store.store, every=UNREAD_FIELDS_SECONDS, problem="unread fields could not be stored")


async def load_daily(daily_load: DailyLoad) -> None:
    """Fill the copy whenever the daily load is due."""
    await run_forever(daily_load.run_where_due, every=DAILY_LOAD_SECONDS, problem="the copy could not be filled")


async def recheck(recheck_service: RecheckService, schedule: Schedule, every: float) -> None:
    """Recheck watches in every slot of `every` seconds that this process claims."""
    slots = Slots("recheck", every, look=min(RECHECK_LOOK_SECONDS, every), problem="watches could not be rechecked")
    await _in_slots(slots, schedule, recheck_service.run)


async def sweep_devices(sweeper: DeviceSweeper, schedule: Schedule) -> None:
    """Sweep the manufacturers that are due, a few side by side, and bring the queue up to what is watched."""
    problem = "the devices of manufacturers could not be swept"
    await asyncio.gather(
        _in_slots(SWEEP_QUEUE, schedule, sweeper.refresh_queue),
        *(run_forever(sweeper.run_due, every=SWEEP_LOOK_SECONDS, problem=problem) for _ in range(SIDE_BY_SIDE)),
    )


async def check_register(checks: RegisterChecks, schedule: Schedule) -> None:
    """Check how the register answers, where that is due, in every slot that this process claims. The first check is
    a minute after the start, when others have had their requests.
    """
    await asyncio.sleep(REGISTER_CHECKS.look)
    await _in_slots(REGISTER_CHECKS, schedule, checks.run_where_due)


async def sweep_certificates(sweep: CertificateSweep) -> None:
    """Read the list of all certificates whenever that is due."""
    await run_forever(
        sweep.run_where_due, every=CERTIFICATES_LOOK_SECONDS, problem="the list of certificates could not be read"
    )


async def read_scopes(sweep: CertificateSweep, schedule: Schedule) -> None:
    """Read some scopes of certificates in every minute that this process claims."""
    await _in_slots(SCOPES, schedule, sweep.read_due_scopes)


async def report_expiring(expiry: ExpiryService, schedule: Schedule) -> None:
    """Report ends of certificates, every ten minutes, in slots that this process claims."""
    await _in_slots(EXPIRY, schedule, expiry.run)


async def deliver(deliveries: DeliveryService) -> None:
    """Claim and deliver what is due. When cancelled, deliveries under way are finished first."""
    await _deliver(DeliveryWorker(deliveries), "deliveries could not be made")


async def send_mails(mails: DeliveryService) -> None:
    """Deliver due mails, few at a time."""
    worker = DeliveryWorker(mails, MAX_MAILS_AT_ONCE, IDLE_MAIL_SECONDS)
    await _deliver(worker, "mails about changes could not be sent")


async def _deliver(worker: DeliveryWorker, problem: str) -> None:
    try:
        await run_forever(worker.step, every=0.0, problem=problem)
    finally:
        await run_uncancelled(worker.end())


async def read_bounces(reader: BounceReader, schedule: Schedule) -> None:
    """Read undeliverable mails that came back, in every minute that this process claims."""
    await _in_slots(BOUNCES, schedule, reader.run)


async def look_after_channels(upkeep: ChannelUpkeep, schedule: Schedule) -> None:
    """Mail owners of failing channels, and pause some, in every slot of ten minutes that this process claims."""
    await _in_slots(CHANNELS, schedule, upkeep.run)


async def sync_subscriptions(upkeep: SubscriptionUpkeep, schedule: Schedule) -> None:
    """Read due subscriptions from the payment provider, in every minute that this process claims."""
    await _in_slots(SUBSCRIPTIONS, schedule, upkeep.run)


async def delete_old_trials(old_trials: OldTrialService, schedule: Schedule) -> None:
    """Announce and carry out the deletion of old trials, in every day that this process claims."""
    await _in_slots(OLD_TRIALS, schedule, old_trials.run)


async def mail_period_notices(notices: PeriodNotices, schedule: Schedule) -> None:
    """Mail owners that the period of their account ends, in every slot of ten minutes that this process claims."""
    await _in_slots(PERIODS, schedule, notices.run)


async def match_lists(worker: ListWorker) -> None:
    """Read and match the files that are sent for lists."""
    await run_forever(worker.step, every=0.0, problem="lists could not be matched")


async def follow_lists(worker: ListWorker, schedule: Schedule) -> None:
    """Bring lines of lists up to the copy, in every slot of 15 seconds that this process claims."""
    await _in_slots(LISTS, schedule, worker.follow)


async def prune(pruner: AccountPruner, deliveries: DeliveryService, history: HistoryPruner, lists: ListWorker) -> None:
    """Delete expired rows at once and then every hour."""

    async def run() -> None:
        deleted = await pruner.prune() + await deliveries.forget(DELIVERIES_KEPT_SECONDS) + await history.prune()
        deleted += await lists.forget()
        if deleted:
            log.info("deleted expired rows", rows=deleted)

    await run_forever(run, every=PRUNE_SECONDS, problem="expired rows could not be deleted")
