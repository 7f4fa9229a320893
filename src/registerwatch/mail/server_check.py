"""Sends a test mail for the operator: what is set, what the server answered, and what to do where it refuses."""

import asyncio
import ssl
from collections.abc import Sequence

import aiosmtplib
import msgspec

from registerwatch.errors import ConfigurationError, MailNotSent
from registerwatch.mail.dkim import dkim_signer_of
from registerwatch.mail.message import Message, compose, sender_of
from registerwatch.mail.server import Encryption, name_in, server_of
from registerwatch.mail.smtp import failure_of, new_client, quit_session
from registerwatch.mail.texts import operators_test
from registerwatch.settings import Settings

CHECK_SECONDS = 30.0
MAX_ANSWER_LENGTH = 500

NOT_SET = "No mail can be sent: set REGISTERWATCH_SMTP_URL and REGISTERWATCH_MAIL_FROM."
UNREACHABLE = (
    "Look at host and port in REGISTERWATCH_SMTP_URL, and whether this machine may reach them:"
    " many networks let nobody out on the ports 25, 465 and 587."
)
NOT_TRUSTED = "Name the server as its certificate does, or set SSL_CERT_FILE to the certificate of its authority."
OTHER_TLS = (
    "Write smtps:// for a port that is encrypted from the start, such as 465, and smtp:// for one with STARTTLS."
)
ADVICE: dict[type[Exception], str] = {
    aiosmtplib.SMTPAuthenticationError: "Compare user and password in REGISTERWATCH_SMTP_URL with what the server"
    " knows; in it signs such as / # @ : are written as %2F %23 %40 %3A.",
    aiosmtplib.SMTPSenderRefused: "Set REGISTERWATCH_MAIL_FROM to an address that this login may send as.",
    aiosmtplib.SMTPRecipientRefused: "Where the server speaks of relaying, give it a login in REGISTERWATCH_SMTP_URL;"
    " else the address does not exist, or its server does not want this sender.",
    aiosmtplib.SMTPDataError: "Look at what the server says; mostly it misses SPF, DKIM or DMARC;"
    " docs/mail.md tells of them.",
    aiosmtplib.SMTPNotSupported: "Use an address in ASCII, or a server with SMTPUTF8.",
    ssl.SSLCertVerificationError: NOT_TRUSTED,
    ssl.SSLError: OTHER_TLS,
    OSError: UNREACHABLE,
    TimeoutError: UNREACHABLE,
}
OTHERWISE = "Look at what the server says, and into its log."
_USED = {
    Encryption.FROM_THE_START: "from the start, certificate checked",
    Encryption.DEMANDED: "STARTTLS is demanded, certificate checked",
    Encryption.WHEN_OFFERED: "STARTTLS where the server offers it, certificate checked",
    Encryption.LOCAL: "STARTTLS where the server offers it, certificate not checked as it is this machine",
}


class ServerAnswer(msgspec.Struct, frozen=True):
    """A server's answer to a mail: its text, and the encryption of the connection."""

    encryption: str
    text: str


def mail_settings(settings: Settings) -> Sequence[tuple[str, str]]:
    """The mail settings, without secrets, each with its name. Raises `ConfigurationError` where none is set."""
    if settings.smtp_url is None:
        raise ConfigurationError(NOT_SET)
    server, signer = server_of(settings.smtp_url.get_secret_value()), dkim_signer_of(settings)
    signed = f"{signer.selector}._domainkey.{signer.domain}" if signer else "not signed here (REGISTERWATCH_DKIM_KEY)"
    return (
        ("Server", server.name),
        ("Encryption", _USED[server.encryption]),
        ("Login", "none" if server.user is None else f"as {server.user}"),
        ("Sender", str(sender_of(settings.mail_from))),
        ("DKIM", signed),
        ("Bounces", settings.bounce_address or "to the sender, and read by nobody here (REGISTERWATCH_BOUNCE_ADDRESS)"),
    )


async def send_test(
    settings: Settings, address: str, *, at: float, seconds: float = CHECK_SECONDS, tls: ssl.SSLContext | None = None
) -> ServerAnswer:
    """Hand one mail over, once. Raises `MailNotSent` with the reason, the server's text, and what to do.

    `tls` is for tests.
    """
    message = _signed(settings, address, at)
    assert settings.smtp_url is not None, "mail_settings refuses that"
    server = server_of(settings.smtp_url.get_secret_value())
    client = new_client(server, name_in(settings.public_url), tls)
    try:
        async with asyncio.timeout(seconds):
            await client.connect()
            cipher = client.get_transport_info("cipher")
            options = ["SMTPUTF8"] if message.needs_utf8 else []
            _, answer = await client.sendmail(
                message.sender, [message.recipient], message.content, mail_options=options
            )
        await quit_session(client)
    except TimeoutError as error:
        raise MailNotSent(f"{server.name} did not answer within {seconds:.3g} s.\n{_advice(error)}") from None
    except (OSError, aiosmtplib.SMTPException) as error:
        raise MailNotSent(f"{failure_of(error, server).reason}\n{_words(error)}{_advice(error)}") from None
    finally:
        client.close()
    return ServerAnswer(f"{cipher[1]} ({cipher[0]})" if cipher else "none", _shown(answer))


def _signed(settings: Settings, address: str, at: float) -> Message:
    mail = operators_test(address, settings.public_url)
    message = compose(mail.to, mail.subject, mail.text, sender=sender_of(settings.mail_from), at=at)
    signer = dkim_signer_of(settings)
    return message if signer is None else signer.signed(message, at)


def _cause(error: Exception) -> BaseException:
    if isinstance(error, aiosmtplib.SMTPRecipientsRefused):
        return error.recipients[0]
    is_wrapped = isinstance(error, aiosmtplib.SMTPConnectError) and error.__cause__ is not None
    return error.__cause__ if is_wrapped and error.__cause__ is not None else error


def _advice(error: Exception) -> str:
    """Advice on a failure: that for the nearest class of it."""
    for known in type(_cause(error)).__mro__:
        if known in ADVICE:
            return ADVICE[known]
    return OTHERWISE


def _words(error: Exception) -> str:
    """The server's text, in a line of its own."""
    cause = _cause(error)
    if not isinstance(cause, aiosmtplib.SMTPResponseException) or not cause.message:
        return ""
    return f"It says: {_shown(cause.message)}\n"


def _shown(answer: str) -> str:
    """A server's text in one bounded line that a terminal shows."""
    line = " ".join(answer[:MAX_ANSWER_LENGTH].split())
    return "".join(each if each.isprintable() else "�" for each in line)
