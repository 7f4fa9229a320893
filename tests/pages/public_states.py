"""The public pages in every state, with long and hostile texts: registrations, and the addresses to look at."""

from sqlalchemy import delete, insert

from registerwatch.accounts.sessions.credentials import credential_of
from registerwatch.copy.tables import device_sweeps, walks
from registerwatch.ingest.tables import register_checks
from registerwatch.notifications.bounces.unsubscribe_tokens import PATH as UNSUBSCRIBE
from registerwatch.notifications.bounces.unsubscribe_tokens import token_of
from registerwatch.notifications.models import EMAIL
from registerwatch.notifications.targets.channel_models import NewChannel
from registerwatch.platform.clock import iso_utc
from registerwatch.platform.structs import replace
from tests.ingest.test_register_status import a_sweep, a_walk
from tests.pages.registrations import MAKER, certificate, gtin, in_days, registration
from tests.register.certificate_rows import (
    BODY,
    BODY_NAME,
    a_certificate,
    a_refusal,
    certificate_id,
    note_history,
    scopes,
    store_certificates,
)
from tests.support.harness import NOW, PASSWORD, ServiceHarness

SRN = MAKER["srn"]
HOSTILE = "<script>window.hacked = true</script><img src=x onerror='window.hacked = true'>"
LONG_NAME = "Retaining-" * 12 + "strap, 600 × 38 mm, non-slip silicone lines, with hook-and-loop fixation"
CERTIFICATES = [
    certificate("GONE-1", in_days(-400), type="MDD_II_EX_4"),
    certificate("SOON-1", in_days(90), revision="2"),
    certificate("Z-25-052-S-IX-E-LONG-NUMBER-THAT-GOES-ON-AND-ON-000000000001", in_days(900)),
    certificate("NONE-1", None),
]
OTHER_CODES = [
    {"code": "H" + "8" * 49, "kind": "container_package", "quantity": 1_000_000},
    {"code": gtin(90), "kind": "container_package", "quantity": 4, "contains": "H" + "8" * 49},
    {"code": gtin(91), "kind": "secondary"},
]
NAMED, HOSTILE_DI, LONG_DI, UNREAD, LEGACY = gtin(1), gtin(50), "+H" + "9" * 40, gtin(52), gtin(53)
REGISTRATIONS = [
    *(registration(gtin(number), f"Titanium stem {number}", certificates=CERTIFICATES) for number in range(1, 11)),
    registration(HOSTILE_DI, HOSTILE),
    registration(LONG_DI, LONG_NAME, reference="R" * 80, certificates=CERTIFICATES, other_codes=OTHER_CODES),
    registration(UNREAD, "Stem that was never read", basic_udi="4012345OTHER9"),
    registration(
        LEGACY,
        None,
        model="CAGE",
        legislation="refdata.applicable-legislation.mdd",
        basic_udi=None,
        status="refdata.device-model-status.no-longer-on-the-market",
    ),
]
PAGES = {
    "first visit": "/",
    "results": "/?q=stem",
    "nothing found": "/?q=nothing+of+this+kind&risk=a",
    "unknown code": f"/?q={gtin(900)}",
    "long names": "/?q=strap",
    "device": f"/d/{NAMED}",
    "long device": f"/d/{LONG_DI}",
    "hostile device": f"/d/{HOSTILE_DI}",
    "legacy device": f"/d/{LEGACY}",
    "nothing to compare": "/compare",
    "one device to compare": f"/compare?d={NAMED}",
    "devices that cannot be compared": f"/compare?d={HOSTILE_DI}&d={HOSTILE_DI}",
    "devices of which one is missing": f"/compare?d={NAMED}&d={gtin(900)}",
    "compared devices": f"/compare?d={LONG_DI.replace('+', '%2B')}&d={HOSTILE_DI}&d={LEGACY}&d={gtin(900)}",
    "differences of devices": f"/compare?d={NAMED}&d={LEGACY}&only=differences",
    "actor": f"/a/{SRN}",
    "certificate": f"/c/{certificate_id(1)}",
    "certificate with hostile texts": f"/c/{certificate_id(2)}",
    "certificate that nobody knows": f"/c/{certificate_id(99)}",
    "certificate by number": "/?q=Z-25-001",
    "missing device": f"/d/{gtin(900)}",
    "error": "/?status=maybe",
    "documentation": "/docs",
    "interface": "/docs/api",
    "operations": "/docs/api/feeds",
    "many operations": "/docs/api/register",
    "guide with code": "/docs/mcp",
    "guide with a wide table": "/docs/accounts",
    "status": "/status",
    "forgotten password": "/password/forgot",
    "new password": "/password/reset?token=t",
    "shown password": "/password/reset?token=t&show=yes",
    "bad link": "/password/reset",
}
AT_FIRST_SIGHT = {"many operations"}
"""Long pages of a template of which a short one is looked at in full: no element and no class is in them alone."""


async def verify_register(harness: ServiceHarness) -> None:
    """Let the page about the service show every state of a check, with a long text, and sweeps."""
    harness.faults.fail("detail", "json-of-renamed-fields")
    harness.faults.fail("actor", "http-503")
    await harness.service.register_checks.run()
    harness.faults.clear()
    async with harness.database.transaction() as connection:
        await connection.execute(delete(register_checks).where(register_checks.c.name.like("list%")))
        await connection.execute(insert(device_sweeps), [a_sweep(SRN)])
        lists = [a_walk("certificates", problem=LONG_NAME), a_walk("refusals", complete_at=None, total=None)]
        await connection.execute(insert(walks), lists)


async def store_certificates_of_maker(harness: ServiceHarness) -> None:
    """Certificates of the maker in every standing, one with hostile and long texts everywhere."""
    hostile = {"number": HOSTILE, "revision": HOSTILE, "actor_name": LONG_NAME, "expiry": HOSTILE, "type_code": HOSTILE}
    hostile_scope = scopes("9" * 60, "+" * 60, description=f"{HOSTILE} {LONG_NAME}", device_type_codes=["w" * 60])
    await store_certificates(
        harness.database,
        a_certificate(1, srn=SRN, **scopes("4012345TESTQ7", description="Retaining straps")),
        a_certificate(2, "x" * 50, srn=SRN, **hostile, **hostile_scope),
        a_certificate(3, "suspended", srn=SRN, expiry=None, **scopes()),
        a_certificate(4, "restricted", srn=SRN, expiry=in_days(20)),
        a_certificate(5, srn=SRN, expiry=in_days(-20), number="Z" * 60, unlisted_at=harness.now),
        refused=(a_refusal(1, srn=SRN), a_refusal(2, srn=SRN, reference=HOSTILE, procedure_code="p" * 60)),
        bodies={BODY: BODY_NAME},
    )
    await note_history(harness.database, 1, harness.now, status_code="refdata.certificate-status.suspended")
    await note_history(harness.database, 2, harness.now, number=LONG_NAME, expiry=None)


async def mailed_pages(harness: ServiceHarness) -> dict[str, str]:
    """Where mailed links lead, with long texts on the pages."""
    accounts = harness.service.accounts
    owner = await harness.sign_up(f"{'somebody' * 7}@acme.example")
    member = f"member@{'acme' * 14}.example"
    for path, fields in (
        ("/v1/keys", {"label": "x" * 80}),
        ("/v1/webhook", {"url": f"https://{'hooks' * 12}.example/"}),
        ("/v1/feeds", {}),
        ("/v1/users", {"email": member, "password": PASSWORD}),
    ):
        assert (await harness.post(path, owner.session, **fields)).status_code == 200
    owners, members = [
        (await accounts.password_reset.link(email)).rpartition("=")[2] for email in (owner.email, member)
    ]
    host = await harness.sign_up("host@acme.example")
    await harness.prove_address(host)
    caller = await accounts.sessions.caller(credential_of(None, host.session))
    await accounts.invitations.invite(caller, f"g{member}")
    mails = await harness.service.notifications.channels.add(caller, NewChannel(EMAIL))
    await harness.finish_background_work()
    invitation = harness.mail.mails[-1].text.partition("/account/invitation")[2].split()[0]
    return {
        "reset of an owner": f"/password/reset?token={owners}",
        "reset of a member": f"/password/reset?token={members}",
        "confirmation of an owner": f"/account/confirm?token={owners}",
        "confirmation of a member": f"/account/confirm?token={members}",
        "invitation": f"/account/invitation{invitation}",
        "end of mails": f"{UNSUBSCRIBE}{token_of(mails.target)}",
        "end of mails, cut off": f"{UNSUBSCRIBE}1-1-x",
    }


async def changed_pages(harness: ServiceHarness) -> dict[str, str]:
    """What was observed of a device and an actor that changed, with long and hostile texts."""
    [record] = harness.world.by_primary_di(LONG_DI)
    await harness.get(f"/d/{LONG_DI}")
    await harness.finish_background_work()
    for number in range(60):
        name = LONG_NAME.replace("silicone", f"latex-{number}")
        certificates = [*record.certificates[: number % 4], replace(record.certificates[0], expiry=in_days(number))]
        harness.world.change(
            record.uuid,
            device_name=name,
            reference="R" * 70 + str(number),
            model=HOSTILE if number % 2 else "",
            certificates=tuple(certificates),
        )
        harness.world.change_actor(SRN, name=MAKER["name"] + (" & Sons" if number % 2 else ""))
        harness.clock.move(60)
        for subject in (LONG_DI, SRN):
            await harness.service.refresher.refresh(subject)
    return {
        "device that changed": f"/d/{LONG_DI}",
        "actor that changed": f"/a/{SRN}",
        "history of a device": f"/d/{LONG_DI}/history",
        "history of a device that did not change": f"/d/{NAMED}/history",
        "device as of a day": f"/d/{LONG_DI}/history?at={iso_utc(NOW)}",
        "device before it was observed": f"/d/{NAMED}/history?at=2001-01-01",
        "device at two dates": f"/compare?d={LONG_DI.replace('+', '%2B')}&at={iso_utc(NOW)}&at={iso_utc(NOW + 90)}",
        "device before it was observed, compared": f"/compare?d={NAMED}&at=2001-01-01",
        "history of an actor": f"/a/{SRN}/history",
        "actor as of a day": f"/a/{SRN}/history?at={iso_utc(NOW)}",
    }
