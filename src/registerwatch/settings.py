"""All settings, read from the environment here and nowhere else.

Every setting is an environment variable with the prefix `REGISTERWATCH_`. Each can be given as a file instead
(`REGISTERWATCH_DATABASE_URL_FILE=/run/secrets/database`), whose stripped content is the value.
"""

import ipaddress
import os
import re
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import unquote, urlsplit

from email_validator import EmailNotValidError, validate_email
from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from registerwatch.errors import ConfigurationError

PREFIX = "REGISTERWATCH_"
EUDAMED_URL = "https://ec.europa.eu/tools/eudamed/api"
SECRETS_KEY_BYTES = 32
MIN_DKIM_KEY_BITS = 1024
MAX_BOUNCE_LOCAL_PART = 31
"""A local part has 64 characters; the plus and a token of 32 need the others."""
PAYMENT_API_URL = "https://api.stripe.com"
EUDAMED_DATALAKE_URL = "https://api.datalake.sante.service.ec.europa.eu/eudamed"

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


DEFAULT_SERVICE_NAME = "Service"
NOT_EUDAMED = "These records are not EUDAMED's; in a demonstration they are made up. Do not base decisions on them."


class Settings(BaseSettings):
    """The settings of one process. Durations are in seconds unless the name says otherwise."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="forbid", env_ignore_empty=True, hide_input_in_errors=True
    )

    data_dir: Path = Field(
        Path("data"), description="Folder of the SQLite database and the search index. Made when missing."
    )
    database_url: SecretStr | None = Field(
        None,
        description="`sqlite:///path/to/file.db` or `postgresql://user:password@host/name`. "
        "Default: `registerwatch.db` in the data folder.",
    )
    redis_url: SecretStr | None = Field(
        None,
        description="`redis://host:6379/0`, `rediss://…` or `unix:///path`, of Redis or Valkey: shares rate limits "
        "between processes. Default: each process counts for itself.",
    )
    public_url: str = Field(
        "http://localhost:8000", description="Address under which people reach the service, without a final slash."
    )
    contact: str = Field(
        "", description="E-mail or web address that the register's operators can reach you at; part of the User-Agent."
    )
    register_url: str = Field(EUDAMED_URL, description="Base address of the register's JSON interface.")
    datalake_url: str = Field(EUDAMED_DATALAKE_URL, description="Base address of the register's bulk Data Lake.")
    datalake_key: SecretStr | None = Field(
        None,
        description="Subscription key of the Data Lake, sent as `Ocp-Apim-Subscription-Key`. None is needed today.",
    )
    register_requests_per_minute: int = Field(
        60,
        ge=1,
        le=1_000_000,
        description="The most that the pace may rise to: requests to the register in any 60 seconds, over all "
        "processes. It starts at 30 and follows what the register answers.",
    )
    register_timeout: float = Field(
        20.0, gt=0, le=600, description="Seconds that one request to the register may take."
    )
    datalake_requests_per_minute: int = Field(
        6, ge=1, le=1_000_000, description="The same for requests to the Data Lake, whose pages take 20 to 50 seconds."
    )
    datalake_timeout: float = Field(
        180.0, gt=0, le=600, description="Seconds that one request to the Data Lake may take."
    )
    cache_hours: float = Field(
        6.0, gt=0, description="Hours for which a stored record counts as fresh; an older one is refreshed when read."
    )
    rate_limits: bool = Field(True, description="Whether clients are limited (`on` or `off`).")
    trusted_proxies: Annotated[tuple[Network, ...], NoDecode] = Field(
        (), description="Comma-separated addresses or networks whose `X-Forwarded-For` is believed."
    )
    smtp_url: SecretStr | None = Field(
        None,
        description="`smtp://user:password@host:587` (STARTTLS) or `smtps://…:465`. Default: no mail is sent.",
    )
    mail_from: str = Field(
        "", description="Sender of mails, `Registerwatch <service@example.org>`. Needed with `SMTP_URL`."
    )
    dkim_key: SecretStr | None = Field(
        None,
        description="RSA private key (PEM, of `openssl genrsa 2048`) that mails are signed with by DKIM. Default: the "
        "mail server signs them, or nobody.",
    )
    dkim_selector: str = Field(
        "",
        validate_default=True,
        description="Under which name its public key stands in DNS, `<selector>._domainkey.<domain>`. Needed with "
        "`DKIM_KEY`.",
    )
    dkim_domain: str = Field("", description="Domain that signs. Default: that of `MAIL_FROM`.")
    mail_per_minute: int = Field(
        300, ge=1, le=1_000_000, description="Most mails about changes in a minute, over all processes."
    )
    bounce_address: str = Field(
        "",
        description="Address that undeliverable mails come back to, `bounces@example.org`; the part after its plus, "
        "`bounces+…@example.org`, says whose mail it was. Default: they come back to `MAIL_FROM`.",
    )
    bounce_imap_url: SecretStr | None = Field(
        None,
        description="Mailbox that they come back to, `imaps://user:password@host/INBOX`: what is unread there is read "
        "and marked as read. Default: nobody reads it.",
    )
    bounce_webhook_secret: SecretStr | None = Field(
        None,
        description="Secret that a mail provider sends along when it posts undeliverable addresses to "
        "`/v1/mail/bounces`. Default: nothing is received there.",
    )
    service_name: str = Field(
        DEFAULT_SERVICE_NAME,
        description="Name in outgoing webhooks: of their headers, `X-Service-Signature`, and `User-Agent`.",
    )
    recheck_interval: int = Field(
        600, ge=1, le=86_400, description="Seconds between two rechecks over the whole fleet."
    )
    recheck_watches_per_run: int = Field(15, ge=1, le=100_000, description="Most subjects that one recheck reads.")
    sweep: bool = Field(
        True, description="Whether listings of the register are read to find what changed of watches (`on` or `off`)."
    )
    sweep_interval: int = Field(
        600, ge=1, le=86_400, description="Seconds within which the devices of a manufacturer are listed once at most."
    )
    sync_time_limit: float = Field(60.0, gt=0, le=600, description="Seconds that a sync may take.")
    webhooks_allow_private: bool = Field(
        False,
        description="Whether webhooks may go to private networks and over http, for receivers on the same network.",
    )
    signup: Literal["open", "invite", "off"] = Field(
        "open",
        description="Who may sign up: `open` (anybody opens a trial), `invite` (owners add members, the operator makes "
        "accounts), or `off` (the operator alone).",
    )
    common_passwords: Literal["pages", "everywhere"] = Field(
        "pages",
        description="Where very common passwords are refused: on `pages` (programs set any of eight characters), or "
        "`everywhere`.",
    )
    trial_days: int = Field(7, ge=1, le=3650, description="Days that a trial lasts.")
    trial_watch_cap: int = Field(25, ge=0, le=1_000_000, description="Most watches that a trial may have.")
    payment_api_key: SecretStr | None = Field(
        None, description="Secret key of the payment provider. Default: the service takes no payments."
    )
    payment_api_url: str = Field(PAYMENT_API_URL, description="Base address of the payment provider's interface.")
    payment_webhook_secret: SecretStr | None = Field(
        None, description="`whsec_…`, by which the payment provider's events are known to be genuine."
    )
    payment_prices: Annotated[Mapping[Literal["standard", "operator"], str], NoDecode] = Field(
        {},
        validate_default=True,
        description="The provider's price of each plan, `standard=price_1,operator=price_2`. "
        "Needed with `PAYMENT_API_KEY`.",
    )
    secrets_key: SecretStr | None = Field(
        None,
        description="Key under which the database holds secrets of webhooks and authenticator apps, 32 random bytes in "
        "base64 (`openssl rand -base64 32`); behind commas others, which still decrypt. Default: they are stored in "
        "clear.",
    )
    oidc_issuer: str = Field(
        "",
        description="Issuer of an OpenID provider that people sign in by, such as `https://login.example.org`. "
        "Default: by none.",
    )
    oidc_client_id: str = Field(
        "", validate_default=True, description="This service's id at the provider. Needed with `OIDC_ISSUER`."
    )
    oidc_client_secret: SecretStr | None = Field(
        None, description="Its secret there. Default: it is a public client, known by PKCE alone."
    )
    oidc_name: str = Field("single sign-on", description="What people call the provider: “Sign in by …”.")
    mirror: Literal["off", "datalake", "register"] = Field(
        "off",
        description="What the copy is filled from once a day, in the background: `datalake` (every device, hours old), "
        "`register` (what is new there), or `off`.",
    )
    mirror_hour: int = Field(2, ge=0, le=23, description="Hour of the day (UTC) from which that fill begins.")
    drain_seconds: float = Field(
        0.0, ge=0, le=600, description="Seconds that `serve` goes on after SIGTERM while `/ready` says 503."
    )
    access_log: bool = Field(
        False, description="Whether each request is logged (`on` or `off`), with the client's address."
    )
    log_format: Literal["text", "json"] = Field("text", description="`text` for people, `json` for collectors.")

    @field_validator("trusted_proxies", mode="before")
    @classmethod
    def _split_networks(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("payment_prices", mode="before")
    @classmethod
    def _split_prices(cls, value: object, others: ValidationInfo) -> object:
        prices = _prices_of(value) if isinstance(value, str) else value
        if not prices and others.data.get("payment_api_key") is not None:
            raise ValueError(f"is needed with {PREFIX}PAYMENT_API_KEY, such as standard=price_1,operator=price_2")
        return prices

    @field_validator("payment_api_key", "payment_webhook_secret")
    @classmethod
    def _sendable_secret(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not re.fullmatch("[!-~]+", value.get_secret_value()):
            raise ValueError("must be plain ASCII without spaces")
        return value

    @field_validator("secrets_key")
    @classmethod
    def _usable_keys(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            _keys_of(value.get_secret_value())
        return value

    @field_validator("public_url", "register_url", "datalake_url", "payment_api_url")
    @classmethod
    def _http_address(cls, value: str) -> str:
        if not value.startswith(("http://", "https://")):
            raise ValueError("must begin with http:// or https://")
        return value.rstrip("/")

    @field_validator("oidc_issuer")
    @classmethod
    def _safe_issuer(cls, value: str) -> str:
        parts = urlsplit(value)
        is_local = parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1", "::1")
        if value and not (is_local or (parts.scheme == "https" and parts.hostname)):
            raise ValueError("must begin with https://")
        return value

    @field_validator("oidc_client_id")
    @classmethod
    def _known_client(cls, value: str, others: ValidationInfo) -> str:
        if not value and others.data.get("oidc_issuer"):
            raise ValueError(f"is needed with {PREFIX}OIDC_ISSUER")
        return value

    @field_validator("database_url")
    @classmethod
    def _known_database(cls, value: SecretStr | None) -> SecretStr | None:
        address = value.get_secret_value() if value is not None else "postgresql://"
        if not address.startswith(("sqlite://", "postgresql://")):
            raise ValueError("must begin with sqlite:// or postgresql://")
        if address.startswith("sqlite://") and address.removeprefix("sqlite:///") in ("", "sqlite://", ":memory:"):
            raise ValueError("must name a file: sqlite:///path/to/file.db")
        return value

    @field_validator("redis_url")
    @classmethod
    def _known_redis(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not value.get_secret_value().startswith(("redis://", "rediss://", "unix://")):
            raise ValueError("must begin with redis://, rediss:// or unix://")
        return value

    @field_validator("service_name")
    @classmethod
    def _word(cls, value: str) -> str:
        if not re.fullmatch("[A-Za-z][A-Za-z0-9]{0,39}", value):
            raise ValueError("must be one word of letters and digits")
        return value

    @field_validator("contact")
    @classmethod
    def _sendable(cls, value: str) -> str:
        if not (value.isascii() and value.isprintable()):
            raise ValueError("must be plain ASCII, as it is sent in a header")
        return value

    @field_validator("smtp_url")
    @classmethod
    def _known_mail_server(cls, value: SecretStr | None) -> SecretStr | None:
        problem = _problem_of_smtp_url(value.get_secret_value()) if value is not None else None
        if problem is not None:
            raise ValueError(problem)
        return value

    @field_validator("mail_from")
    @classmethod
    def _sender(cls, value: str, others: ValidationInfo) -> str:
        if not value:
            if others.data.get("smtp_url") is not None:
                raise ValueError(f"is needed with {PREFIX}SMTP_URL, such as Registerwatch <service@example.org>")
            return value
        try:
            validate_email(value, allow_display_name=True, check_deliverability=False, globally_deliverable=False)
        except EmailNotValidError as error:
            raise ValueError(f"must hold an e-mail address: {error}") from None
        return value

    @field_validator("dkim_key")
    @classmethod
    def _signing_key(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not _is_signing_key(value.get_secret_value()):
            raise ValueError("must be an RSA private key of 1024 bits or more in PEM, of `openssl genrsa 2048`")
        return value

    @field_validator("dkim_selector", "dkim_domain")
    @classmethod
    def _dns_name(cls, value: str, others: ValidationInfo) -> str:
        if value and not re.fullmatch(r"(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}", value, flags=re.IGNORECASE):
            raise ValueError("must be a name in DNS: letters, digits, hyphens and dots")
        if not value and others.field_name == "dkim_selector" and others.data.get("dkim_key") is not None:
            raise ValueError(f"is needed with {PREFIX}DKIM_KEY")
        return value

    @field_validator("bounce_address")
    @classmethod
    def _receives_bounces(cls, value: str) -> str:
        problem = _problem_of_bounce_address(value) if value else None
        if problem is not None:
            raise ValueError(problem)
        return value

    @field_validator("bounce_imap_url")
    @classmethod
    def _mailbox(cls, value: SecretStr | None) -> SecretStr | None:
        problem = _problem_of_imap_url(value.get_secret_value()) if value is not None else None
        if problem is not None:
            raise ValueError(problem)
        return value

    @field_validator("bounce_webhook_secret")
    @classmethod
    def _long_secret(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not re.fullmatch(r"[A-Za-z0-9_-]{16,200}", value.get_secret_value()):
            raise ValueError("must have 16 letters and digits or more, such as of `openssl rand -hex 32`")
        return value

    @property
    def database_address(self) -> str:
        """The database URL with its password, SQLite in the data folder by default."""
        if self.database_url is not None:
            return self.database_url.get_secret_value()
        return f"sqlite:///{self.data_dir / 'registerwatch.db'}"

    @property
    def secrets_keys(self) -> tuple[bytes, ...]:
        """The keys of `secrets_key`, the one that encrypts first; none if it is not set."""
        return _keys_of(self.secrets_key.get_secret_value()) if self.secrets_key is not None else ()

    @property
    def fresh_seconds(self) -> float:
        """Seconds for which a stored record counts as fresh."""
        return self.cache_hours * 3600

    @property
    def index_dir(self) -> Path:
        """Folder of this node's search index."""
        return self.data_dir / "index"

    @property
    def user_agent(self) -> str:
        """The user agent of requests to the register: product, version, a contact address."""
        return f"Registerwatch/1.0 (+{self.contact or self.public_url})"

    @property
    def webhook_user_agent(self) -> str:
        """The user agent of webhook requests, with the service's name if one is set."""
        name = "Registerwatch" if self.service_name == DEFAULT_SERVICE_NAME else self.service_name
        return f"{name}/1.0 (+{self.contact or self.public_url})"

    @property
    def source_note(self) -> str:
        """The note that descriptions of the service show if its records are not EUDAMED's; else empty."""
        return "" if self.reads_real_register else NOT_EUDAMED

    @property
    def source_name(self) -> str:
        """The source of the records, for a sentence."""
        return "EUDAMED" if self.reads_real_register else "a source that is not EUDAMED"

    @property
    def reads_real_register(self) -> bool:
        """Whether reads go to the Commission's own service, not to a stand-in."""
        return self.register_url == EUDAMED_URL

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, _ValueInFile(settings_cls)


class _ValueInFile(PydanticBaseSettingsSource):
    """Reads values from the files that `REGISTERWATCH_<NAME>_FILE` names."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        variable = f"{PREFIX}{field_name.upper()}_FILE"
        path = os.environ.get(variable)
        if not path:
            return None, field_name, False
        if os.environ.get(variable.removesuffix("_FILE")):
            raise ConfigurationError(f"{variable.removesuffix('_FILE')} and {variable} are both set; keep one of them")
        try:
            return Path(path).read_text(encoding="utf-8").strip(), field_name, False
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"{variable} names a file that cannot be read: {error}") from error

    def __call__(self) -> dict[str, Any]:
        values = {name: self.get_field_value(field, name)[0] for name, field in self.settings_cls.model_fields.items()}
        return {name: value for name, value in values.items() if value is not None}


def load_settings(**overrides: object) -> Settings:
    """Read the environment. Raises `ConfigurationError` with one line for each setting that cannot work."""
    try:
        return Settings(**overrides)  # type: ignore[arg-type]  # pydantic-settings fills what is not given
    except ValidationError as error:
        lines = [f"{_variable(item['loc'])}: {item['msg']}" for item in error.errors()]
        raise ConfigurationError("These settings cannot work:\n  " + "\n  ".join(lines)) from None


def unknown_variables(environment: Mapping[str, str] | None = None) -> list[str]:
    """Names of variables with our prefix that are not settings, probably misspelt."""
    known = {variable_name(name) for name in Settings.model_fields}
    known |= {f"{name}_FILE" for name in known}
    names = os.environ if environment is None else environment
    return sorted(name for name in names if name.startswith(PREFIX) and name not in known)


def variable_name(field_name: str) -> str:
    """The environment variable of a setting."""
    return f"{PREFIX}{field_name.upper()}"


def _variable(location: tuple[int | str, ...]) -> str:
    return variable_name(str(location[0])) if location else PREFIX + "*"


def _keys_of(value: str) -> tuple[bytes, ...]:
    """The keys in a list with commas. Raises `ValueError`, whose message repeats nothing of the list."""
    try:
        keys = tuple(b64decode(part.strip().translate(_STANDARD_BASE64), validate=True) for part in value.split(","))
    except ValueError:
        keys = (b"",)
    if any(len(key) != SECRETS_KEY_BYTES for key in keys) or len(set(keys)) < len(keys):
        raise ValueError(
            "must be 32 random bytes in base64, of `openssl rand -base64 32`; several with commas, each once"
        )
    return keys


_STANDARD_BASE64 = str.maketrans("-_", "+/")


def _prices_of(value: str) -> dict[str, str]:
    """The price of each plan. Raises `ValueError`."""
    pairs = [part.strip().partition("=") for part in value.split(",") if part.strip()]
    prices = {plan.strip(): price.strip() for plan, _, price in pairs}
    if not all(plan in ("standard", "operator") and price for plan, price in prices.items()):
        raise ValueError("must be like standard=price_1,operator=price_2")
    if not len(pairs) == len(prices) == len(set(prices.values())):
        raise ValueError("must name a plan once, and a price for one plan alone")
    return prices


def _problem_of_smtp_url(url: str) -> str | None:
    """What is wrong with an SMTP URL. The text repeats nothing of it, since a password may be anywhere in it."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").encode("idna"), parts.port
    except ValueError:
        return "must be like smtp://user:password@host:587, with signs such as / # @ : in a password written as %2F"
    if parts.scheme not in ("smtp", "smtps"):
        return "must begin with smtp:// or smtps://"
    if not host or b" " in host or port == 0:
        return "must name a host, and a port above 0 if any: smtp://host:587"
    if parts.path.strip("/") or parts.query or parts.fragment:
        return "must end with the port; signs such as / # ? in a password are written as %2F %23 %3F"
    if bool(parts.username) != bool(parts.password):
        return "must name a user and a password, or neither"
    return None


def _is_signing_key(pem: str) -> bool:
    from cryptography.exceptions import UnsupportedAlgorithm  # slow to load, and rarely needed
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(pem.encode(), None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return False
    return isinstance(key, RSAPrivateKey) and key.key_size >= MIN_DKIM_KEY_BITS


def _problem_of_bounce_address(address: str) -> str | None:
    try:
        validate_email(address, check_deliverability=False, globally_deliverable=False)
    except EmailNotValidError as error:
        return f"must hold an e-mail address: {error}"
    local_part = address.rpartition("@")[0]
    if not address.isascii() or "+" in local_part or len(local_part) > MAX_BOUNCE_LOCAL_PART:
        return f"must have at most {MAX_BOUNCE_LOCAL_PART} plain signs and no plus before its @"
    return None


def _problem_of_imap_url(url: str) -> str | None:
    """What is wrong with an IMAP URL. The text repeats nothing of it."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "must be like imaps://user:password@host/INBOX, with signs such as / # @ : in a password written as %2F"
    if parts.scheme != "imaps":
        return "must begin with imaps://"
    if not host or port == 0 or not parts.username or not parts.password or parts.query or parts.fragment:
        return "must name user, password and host; signs such as / # ? in a password are written as %2F %23 %3F"
    if not unquote(parts.username + parts.password).isprintable():
        return "must have no control characters in user and password"
    folder = unquote(parts.path)
    if not (folder.isascii() and folder.isprintable()) or any(sign in folder for sign in '"\\'):
        return "must name a folder in plain ASCII"
    return None
