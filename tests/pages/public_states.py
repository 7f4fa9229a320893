"""The public pages in every state, with long and hostile texts: registrations, and the addresses to look at."""

from registerwatch.accounts.credentials import credential_of
from tests.pages.registrations import MAKER, certificate, gtin, in_days, registration
from tests.support.harness import PASSWORD, ServiceHarness

SRN = MAKER["srn"]
HOSTILE = "<script>window.hacked = true</script><img src=x onerror='window.hacked = true'>"
LONG_NAME = "Retaining-" * 12 + "strap, 600 × 38 mm, non-slip silicone lines, with hook-and-loop fixation"
CERTIFICATES = [
    certificate("GONE-1", in_days(-400), type="MDD_II_EX_4"),
    certificate("SOON-1", in_days(90), revision="2"),
    certificate("Z-25-052-S-IX-E-LONG-NUMBER-THAT-GOES-ON-AND-ON-000000000001", in_days(900)),
    certificate("NONE-1", None),
]
NAMED, HOSTILE_DI, LONG_DI, UNREAD, LEGACY = gtin(1), gtin(50), "+H" + "9" * 40, gtin(52), gtin(53)
REGISTRATIONS = [
    *(registration(gtin(number), f"Titanium stem {number}", certificates=CERTIFICATES) for number in range(1, 11)),
    registration(HOSTILE_DI, HOSTILE),
    registration(LONG_DI, LONG_NAME, reference="R" * 80, certificates=CERTIFICATES),
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
    "actor": f"/a/{SRN}",
    "missing device": f"/d/{gtin(900)}",
    "error": "/?status=maybe",
    "documentation": "/docs",
    "interface": "/docs/api",
    "operations": "/docs/api/register",
    "guide with code": "/docs/mcp",
    "guide with a wide table": "/docs/accounts",
    "forgotten password": "/password/forgot",
    "new password": "/password/reset?token=t",
    "shown password": "/password/reset?token=t&show=yes",
    "bad link": "/password/reset",
}


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
    await accounts.invitations.invite(await accounts.sessions.caller(credential_of(None, host.session)), f"g{member}")
    await harness.finish_background_work()
    invitation = harness.mail.mails[-1].text.partition("/account/invitation")[2].split()[0]
    return {
        "reset of an owner": f"/password/reset?token={owners}",
        "reset of a member": f"/password/reset?token={members}",
        "confirmation of an owner": f"/account/confirm?token={owners}",
        "confirmation of a member": f"/account/confirm?token={members}",
        "invitation": f"/account/invitation{invitation}",
    }
