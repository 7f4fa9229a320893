"""One SMTP session, and the reasons of its failures.

The server's texts are left out of every reason, as many name the recipient; its codes (RFC 5321, RFC 3463) are kept.
"""

import asyncio
import re
import ssl
from contextlib import suppress

import aiosmtplib
import msgspec

from registerwatch.mail.message import Message
from registerwatch.mail.server import Encryption, SmtpServer

QUIT_SECONDS = 1.0

_REFUSED: dict[type[Exception], str] = {
    aiosmtplib.SMTPConnectResponseError: "the connection",
    aiosmtplib.SMTPHeloError: "the greeting",
    aiosmtplib.SMTPAuthenticationError: "the login",
    aiosmtplib.SMTPSenderRefused: "the sender (REGISTERWATCH_MAIL_FROM)",
    aiosmtplib.SMTPRecipientRefused: "the recipient",
    aiosmtplib.SMTPDataError: "the message",
}
_ENHANCED_CODE = re.compile(r"[245]\.\d{1,3}\.\d{1,3}(?!\S)")


class Failure(msgspec.Struct, frozen=True):
    """Why a mail was not accepted, for the operator, and whether another try may help."""

    reason: str
    temporary: bool = False
    code: int | None = None
    """The server's reply code, if any."""
    is_of_mail: bool = False
    """Whether it is about this recipient or this message, and not about all mail from here."""
    is_uncertain: bool = False
    """Whether the server may have accepted the mail nevertheless."""


async def submit(
    message: Message, server: SmtpServer, *, own_name: str, seconds: float, tls: ssl.SSLContext | None
) -> Failure | None:
    """Send a mail within `seconds`; None when the server accepted it. `tls` replaces the system's certificates."""
    client = new_client(server, own_name, tls)
    try:
        failure = await _send(client, message, server, seconds)
        await quit_session(client)
        return failure
    finally:
        client.close()


def new_client(server: SmtpServer, own_name: str, tls: ssl.SSLContext | None) -> aiosmtplib.SMTP:
    """A client that has not connected yet."""
    return aiosmtplib.SMTP(
        hostname=server.host,
        port=server.port,
        username=server.user,
        password=server.password if server.user is not None else None,
        local_hostname=own_name,
        use_tls=server.encryption is Encryption.FROM_THE_START,
        start_tls=True if server.encryption is Encryption.DEMANDED else None,
        validate_certs=server.encryption is not Encryption.LOCAL,
        tls_context=tls,
        timeout=None,
    )


async def _send(client: aiosmtplib.SMTP, message: Message, server: SmtpServer, seconds: float) -> Failure | None:
    options = ["SMTPUTF8"] if message.needs_utf8 else []
    try:
        async with asyncio.timeout(seconds):
            await client.connect()
            await client.sendmail(message.sender, [message.recipient], message.content, mail_options=options)
    except TimeoutError:
        client.close()
        return Failure(f"{server.name} did not answer within {seconds:.3g} s.", temporary=True)
    except (OSError, aiosmtplib.SMTPException) as error:
        return failure_of(error, server)
    return None


async def quit_session(client: aiosmtplib.SMTP) -> None:
    """End the session. Errors do not matter: the mail was accepted or refused before."""
    if client.is_connected:
        with suppress(OSError, aiosmtplib.SMTPException):
            async with asyncio.timeout(QUIT_SECONDS):
                await client.quit()


def failure_of(error: Exception, server: SmtpServer) -> Failure:
    """The reason of a failure, without passwords and recipients."""
    if isinstance(error, aiosmtplib.SMTPRecipientsRefused):
        error = error.recipients[0]
    if isinstance(error, aiosmtplib.SMTPResponseException):
        return _refusal(error, server)
    if isinstance(error, aiosmtplib.SMTPNotSupported):
        return Failure(f"{server.name} accepts no international addresses (it does not offer SMTPUTF8).")
    if isinstance(error, OSError):
        return _broken_connection(error, server)
    return Failure(f"{server.name} cannot be used: {str(error).rstrip('.')}.")


def _refusal(error: aiosmtplib.SMTPResponseException, server: SmtpServer) -> Failure:
    if error.code < 200:
        return Failure(f"{server.name} gave an answer that is no SMTP.")
    if error.code == 530:
        return Failure(f"{server.name} asks for a login or for encryption that REGISTERWATCH_SMTP_URL does not bring.")
    enhanced = _ENHANCED_CODE.match(error.message)
    codes = f"{error.code} {enhanced[0]}" if enhanced else str(error.code)
    refused = _REFUSED.get(type(error), "a command")
    is_of_mail = isinstance(error, aiosmtplib.SMTPRecipientRefused | aiosmtplib.SMTPDataError)
    return Failure(
        f"{server.name} refused {refused}: {codes}.", 400 <= error.code < 500, code=error.code, is_of_mail=is_of_mail
    )


def _broken_connection(error: OSError, server: SmtpServer) -> Failure:
    fault = error.__cause__ if isinstance(error, aiosmtplib.SMTPConnectError) else error
    if isinstance(fault, ssl.SSLCertVerificationError):
        return Failure(f"The certificate of {server.name} cannot be trusted: {fault.verify_message}.")
    if isinstance(fault, ssl.SSLError):
        return Failure(f"{server.name} does not speak TLS here: {fault.reason}.")
    if isinstance(fault, aiosmtplib.SMTPServerDisconnected):
        return Failure(f"{server.name} closed the connection before it accepted the mail.", temporary=True)
    return Failure(f"{server.name} cannot be reached: {fault}.", temporary=True)
