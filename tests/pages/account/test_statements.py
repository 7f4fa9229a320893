"""How much the database is asked for one page, whichever it is."""

from registerwatch.copy.documents.documents import CHANGED, REVISION
from tests.billing.plain_provider import SETTINGS
from tests.pages.account.filled_account import PASSWORD, REGISTRATIONS, filled_account
from tests.pages.account.page_walk import PageWalk
from tests.pages.account.pages_client import PagesClient
from tests.pages.account.visited_account import STARTS, plain_addresses
from tests.pages.conftest import SiteMaker
from tests.support.statements import counted_statements

MAX_STATEMENTS = 12
BEGINNINGS = ("BEGIN", "COMMIT", "ROLLBACK", "SET ", "PRAGMA")
"""Of statements that ask for nothing."""
OF_INDEX_LOOP = (REVISION, CHANGED.format("?", "?"))
"""What the index loop asks for beside any page, whenever its turn comes."""


async def test_no_page_needs_more_than_twelve_statements(site: SiteMaker) -> None:
    async with site(*REGISTRATIONS, **SETTINGS) as harness:
        account = await filled_account(harness)
        owner = PagesClient(harness)
        await owner.sign_in(account.owner.email, PASSWORD)
        walk = PageWalk(owner)
        await walk.follow_links(*plain_addresses(harness), *STARTS)
        counts = {}
        for state in walk.states.values():
            with counted_statements() as sent:
                await owner.get(state.address)
            asked = [each for each in sent if not each.startswith(BEGINNINGS) and each not in OF_INDEX_LOOP]
            counts[state.address] = len(asked)

    assert len(counts) > 40
    assert {address: count for address, count in counts.items() if count > MAX_STATEMENTS} == {}
