"""What time brings does not depend on when somebody looks."""

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from registerwatch_standins.payment.checkouts import Checkouts
from registerwatch_standins.payment.endpoints import Endpoints
from registerwatch_standins.payment.parameters import CheckoutCreate, LineItem, SubscriptionData
from registerwatch_standins.payment.records import Card
from registerwatch_standins.payment.scheduler import Scheduler
from registerwatch_standins.payment.store import Store
from registerwatch_standins.payment.subscriptions import Subscriptions
from tests.support.fakes import SteppedClock

from .conftest import START

HOUR, DAY = 3600, 86_400
LOOK = 5 * HOUR
LONGEST = 45 * DAY


class Simulation:
    """A ledger at a time of its own, and what people do in it."""

    def __init__(self) -> None:
        self.clock = SteppedClock(START)
        self.store = Store(self.clock.now, "http://payments.test", seed=1)
        self.subscriptions = Subscriptions(self.store)
        self.checkouts = Checkouts(self.store, self.subscriptions)
        self.scheduler = Scheduler(self.store, self.subscriptions, self.checkouts)

    def let_pass(self, seconds: int, look_every: int) -> None:
        """Let time pass, and look so often meanwhile."""
        while seconds > 0:
            step = min(seconds, look_every)
            self.clock.move(step)
            self.scheduler.catch_up()
            seconds -= step

    def do(self, action: str) -> None:
        """Something that somebody does."""
        running = [each for each in self.store.subscriptions.values() if not each.has_ended]
        if action in ("buy", "try", "leave"):
            self._buy(7 if action == "try" else None, pays=action != "leave")
        elif running:
            last = running[-1]
            actions: dict[str, Callable[[], object]] = {
                "end": lambda: self.subscriptions.set_cancel_at_period_end(last, True),
                "renew": lambda: self.subscriptions.set_cancel_at_period_end(last, False),
                "end by date": lambda: self.subscriptions.set_cancel_at(last, self.store.now() + 10 * DAY),
                "cancel": lambda: self.subscriptions.cancel(last),
                "pay": lambda: self.subscriptions.pay_open_invoice(last),
                "good card": lambda: self._card(last.customer, Card.GOOD),
                "bad card": lambda: self._card(last.customer, Card.REFUSED_LATER),
            }
            actions[action]()

    def _buy(self, trial_days: int | None, *, pays: bool) -> None:
        order = CheckoutCreate(
            mode="subscription",
            success_url="http://service.test/",
            line_items=[LineItem("price_standard")],
            customer_email="a@acme.example",
            subscription_data=SubscriptionData(trial_days),
        )
        opened = Endpoints(self.store, self.subscriptions).create_checkout(order, "")
        if pays:
            self.checkouts.pay(self.store.checkout(opened["id"]), Card.GOOD, "")

    def _card(self, customer: str, card: Card) -> None:
        self.store.customer(customer).card = card


ACTIONS = ("buy", "try", "leave", "end", "renew", "end by date", "cancel", "pay", "good card", "bad card", "bad card")
steps = st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, LONGEST)), max_size=8)


@settings(max_examples=min(60, settings().max_examples), deadline=None)
@given(steps)
def test_who_looks_often_sees_what_sees_who_looks_once(steps: list[tuple[str, int]]) -> None:
    often, once = Simulation(), Simulation()
    for action, seconds in [("try", DAY), *steps]:
        for simulation, look_every in ((often, LOOK), (once, LONGEST)):
            simulation.do(action)
            simulation.let_pass(seconds, look_every)
    assert [event.body for event in often.store.log.events] == [event.body for event in once.store.log.events]


@settings(max_examples=min(60, settings().max_examples), deadline=None)
@given(steps)
def test_whatever_happens_the_story_holds_together(steps: list[tuple[str, int]]) -> None:
    simulation = Simulation()
    for action, seconds in [("try", DAY), *steps]:
        simulation.do(action)
        simulation.let_pass(seconds, LONGEST)
    events, ended = simulation.store.log.events, set()
    assert [event.created for event in events] == sorted(event.created for event in events)
    for event in events:
        subject = event.json["data"]["object"]
        if event.type.startswith("customer.subscription."):
            assert subject["id"] not in ended, "nothing happens after the end"
            (item,) = subject["items"]["data"]
            assert item["current_period_start"] < item["current_period_end"]
        if event.type == "customer.subscription.deleted":
            assert subject["status"] == "canceled"
            ended.add(subject["id"])
    for subscription in simulation.store.subscriptions.values():
        assert subscription.has_ended or subscription.period_end > simulation.store.now()
        paid = [each for each in simulation.store.invoices.values() if each.subscription == subscription.id]
        periods = [(each.period_start, each.period_end) for each in paid]
        assert len(set(periods)) == len(periods), "no period is asked for twice"
