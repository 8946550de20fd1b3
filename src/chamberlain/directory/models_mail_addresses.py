"""Mail addresses, as requests reserve them for what they make."""

from chamberlain.core.values import value


@value(frozen=True, slots=True)
class MailAddress:
    """A mail nickname and the address that it makes at a domain."""

    mail_nickname: str
    mail: str
