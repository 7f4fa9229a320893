"""Messages that mail servers send back, in the forms of well-known ones."""

BOUNDARY = "----=_Part_1"

NOTE = """This is the mail system at host mx.example.net. I'm sorry to have to inform you that your message could not
be delivered to one or more recipients.
"""
RETURNED = """Return-Path: <{to}>
From: Registerwatch <service@example.org>
To: ann@acme.example
Subject: 2 changes

A change.
"""


def report(to: str, *blocks: str, header: str = "To", content_type: str = "message/delivery-status") -> bytes:
    """A report to an address, of receivers whose blocks are given."""
    status = "\n".join(f"{block.strip()}\n" for block in ("Reporting-MTA: dns; mx.example.net", *blocks))
    text = f"""From: MAILER-DAEMON@mx.example.net (Mail Delivery System)
{header}: {to}
Subject: Undelivered Mail Returned to Sender
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status;
\tboundary="{BOUNDARY}"

This is a MIME-encapsulated message.

--{BOUNDARY}
Content-Type: text/plain; charset=us-ascii

{NOTE}
--{BOUNDARY}
Content-Description: Delivery report
Content-Type: {content_type}

{status}
--{BOUNDARY}
Content-Type: message/rfc822

{RETURNED.format(to=to)}
--{BOUNDARY}--
"""
    return text.replace("\n", "\r\n").encode()


def block(action: str, status: str, recipient: str = "ann@acme.example", original: str | None = None) -> str:
    """What a report says of one receiver."""
    return (
        f"Final-Recipient: rfc822; {recipient}\nOriginal-Recipient: rfc822;{original or recipient}\nAction: {action}\n"
        f"Status: {status}\nRemote-MTA: dns; mx.acme.example\nDiagnostic-Code: smtp; 550 5.1.1 unknown"
    )


GONE = block("failed", "5.1.1")
