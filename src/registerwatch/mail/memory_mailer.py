"""A mailer that sends nothing: it keeps mails in memory for the demonstration and tests."""

from collections.abc import Callable

from registerwatch.errors import MailNotSent
from registerwatch.mail.mailer import BeforeData, Mail
from registerwatch.mail.smtp import Failure


class MemoryMailer:
    """Keeps every mail in `mails`, oldest first, and passes it to `listener`."""

    is_set_up = True

    def __init__(self, listener: Callable[[Mail], None] | None = None) -> None:
        self.mails: list[Mail] = []
        self._listener = listener

    async def send(self, mail: Mail) -> None:
        """Keep the mail. Raises `MailNotSent` for line breaks in the address or the subject, as a real mailer does."""
        if not (mail.to + mail.subject).isprintable():
            raise MailNotSent("The address or the subject holds a line break.")
        self.mails.append(mail)
        if self._listener is not None:
            self._listener(mail)

    async def send_once(self, mail: Mail, before_data: BeforeData) -> Failure | None:
        """Keep the mail."""
        await before_data()
        try:
            await self.send(mail)
        except MailNotSent as error:
            return Failure(str(error), is_of_mail=True)
        return None
