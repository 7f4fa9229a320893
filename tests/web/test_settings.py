"""Settings from the environment: each documented, each also from a file, contradictions named."""

import ipaddress
from pathlib import Path

import httpx2
import pytest

from registerwatch.errors import ConfigurationError
from registerwatch.settings import EUDAMED_URL, Settings, load_settings, unknown_variables, variable_name


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No setting but those of the test."""
    for name in Settings.model_fields:
        monkeypatch.delenv(variable_name(name), raising=False)
        monkeypatch.delenv(variable_name(name) + "_FILE", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_is_described_in_a_sentence(name: str) -> None:
    description = Settings.model_fields[name].description or ""

    assert len(description) > 20
    assert description.endswith(".")


def test_without_any_setting_the_service_reads_the_real_register_politely() -> None:
    settings = load_settings()

    assert settings.reads_real_register
    assert settings.register_url == EUDAMED_URL
    assert settings.register_requests_per_minute <= 60
    assert settings.rate_limits
    assert settings.trusted_proxies == ()
    assert settings.database_address == "sqlite:///data/registerwatch.db"


VALUES = {
    "data_dir": "/var/lib/registerwatch",
    "database_url": "postgresql://user:secret@db/registerwatch",
    "public_url": "https://watch.example.org/",
    "contact": "ops@example.org",
    "register_url": "http://register.test/eudamed",
    "datalake_url": "http://register.test/datalake",
    "register_requests_per_minute": "30",
    "register_timeout": "7.5",
    "datalake_requests_per_minute": "2",
    "datalake_timeout": "240",
    "cache_hours": "1.5",
    "rate_limits": "off",
    "trusted_proxies": "10.0.0.0/8, 2001:db8::1",
    "mail_from": "Registerwatch <service@example.org>",
    "payment_api_url": "http://payments.test",
    "payment_webhook_secret": "whsec_hunter2",
    "payment_prices": "standard=price_1, operator=price_2",
    "log_format": "json",
}


@pytest.mark.parametrize("name", VALUES)
def test_every_setting_can_be_given_as_a_file_with_the_same_effect(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    by_default = load_settings()
    monkeypatch.setenv(variable_name(name), VALUES[name])
    direct = load_settings()
    monkeypatch.delenv(variable_name(name))
    (tmp_path / "value").write_text(f"{VALUES[name]}\n")
    monkeypatch.setenv(f"{variable_name(name)}_FILE", str(tmp_path / "value"))

    assert load_settings() == direct != by_default


def test_values_are_read_in_their_units(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in VALUES.items():
        monkeypatch.setenv(variable_name(name), value)

    settings = load_settings()

    assert settings.public_url == "https://watch.example.org"
    assert settings.trusted_proxies == (ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("2001:db8::1"))
    assert (settings.rate_limits, settings.cache_hours, settings.register_timeout) == (False, 1.5, 7.5)
    assert settings.index_dir == Path("/var/lib/registerwatch/index")
    assert settings.user_agent == "Registerwatch/1.0 (+ops@example.org)"
    assert "hunter2" not in repr(settings)
    assert "user:secret" not in repr(settings)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("register_requests_per_minute", "0"),
        ("register_requests_per_minute", "many"),
        ("register_timeout", "-1"),
        ("register_timeout", "nan"),
        ("cache_hours", "0"),
        ("rate_limits", "sometimes"),
        ("trusted_proxies", "10.0.0.0/8, proxy.example.org"),
        ("trusted_proxies", "10.0.0.1/8"),
        ("register_url", "register.test"),
        ("datalake_url", "ftp://register.test"),
        ("public_url", "watch.example.org"),
        ("log_format", "xml"),
        ("database_url", "mysql://user@db/name"),
        ("database_url", "postgres://user@db/name"),
        ("database_url", "sqlite://"),
        ("database_url", "sqlite:///:memory:"),
        ("smtp_url", "mail.example.org:587"),
        ("smtp_url", "http://mail.example.org"),
        ("smtp_url", "smtp://"),
        ("smtp_url", "smtp://user:password@"),
        ("smtp_url", "smtp://mail example.org"),
        ("smtp_url", "smtp://mail..example.org"),
        ("smtp_url", "smtp://[::1"),
        ("smtp_url", "smtp://mail.example.org:0"),
        ("smtp_url", "smtp://mail.example.org:smtp"),
        ("smtp_url", "smtp://mail.example.org:65536"),
        ("smtp_url", "smtp://mail.example.org/inbox"),
        ("smtp_url", "smtp://mail.example.org?starttls=no"),
        ("smtp_url", "smtp://user@mail.example.org"),
        ("smtp_url", "smtp://:password@mail.example.org"),
        ("mail_from", "Registerwatch"),
        ("mail_from", "service@"),
        ("mail_from", "Registerwatch, Inc. <service@example.org>"),
        ("mail_from", "one@example.org, two@example.org"),
        ("mail_from", "service@example.org\r\nBcc: everybody@example.org"),
        ("bounce_imap_url", "imap://user:password@mail.example.org"),
        ("bounce_imap_url", "imaps://mail.example.org/INBOX"),
        ("bounce_imap_url", "imaps://user:password%0D%0A@mail.example.org"),
        ("bounce_imap_url", "imaps://user:pass#word@mail.example.org"),
        ("bounce_imap_url", 'imaps://user:password@mail.example.org/IN"BOX'),
        ("bounce_webhook_secret", "short"),
        ("bounce_address", "bounces"),
        ("bounce_address", "bounces+more@example.org"),
        ("bounce_address", "büro@example.org"),
        ("bounce_address", f"{'b' * 32}@example.org"),
        ("payment_api_url", "api.payments.test"),
        ("payment_api_key", "sk with spaces"),
        ("payment_api_key", "sk_ü"),
        ("payment_webhook_secret", "whsec_\n"),
        ("payment_prices", "price_1"),
        ("payment_prices", "standard"),
        ("payment_prices", "standard="),
        ("payment_prices", "=price_1"),
        ("payment_prices", "trial=price_1"),
        ("payment_prices", "standard=price_1,standard=price_2"),
        ("payment_prices", "standard=price_1,operator=price_1"),
    ],
)
def test_a_value_that_cannot_work_stops_the_start_and_is_named(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGISTERWATCH_MAIL_FROM", "service@example.org")  # without it every SMTP_URL is refused
    monkeypatch.setenv(variable_name(name), value)

    with pytest.raises(ConfigurationError) as refused:
        load_settings()

    assert variable_name(name) in str(refused.value)


def test_every_value_that_cannot_work_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGISTERWATCH_CACHE_HOURS", "soon")
    monkeypatch.setenv("REGISTERWATCH_LOG_FORMAT", "xml")

    with pytest.raises(ConfigurationError) as refused:
        load_settings()

    assert {"REGISTERWATCH_CACHE_HOURS", "REGISTERWATCH_LOG_FORMAT"} <= set(
        str(refused.value).replace(":", " ").split()
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("database_url", "postgres://user:hunter2@db/name"),
        ("smtp_url", "smtp://user:hunter2#1@mail.example.org"),
        ("smtp_url", "smtp://user:1/hunter2@mail.example.org"),
        ("smtp_url", "smtp://user:1?hunter2@mail.example.org"),
        ("smtp_url", "smtp://user:[hunter2@mail.example.org"),
        ("smtp_url", "http://user:hunter2@mail.example.org"),
    ],
)
def test_a_refusal_does_not_tell_the_password(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable_name(name), value)

    with pytest.raises(ConfigurationError) as refused:
        load_settings()

    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "smtp_url",
    [
        "smtp://mail.example.org",
        "smtp://user:password@mail.example.org:587",
        "smtps://user%40example.org:p%2Fw@mail.example.org:465/",
        "smtp://[2001:db8::1]:25",
        "smtp://bücher.example",
    ],
)
def test_a_mail_server_needs_a_sender(smtp_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGISTERWATCH_SMTP_URL", smtp_url)

    with pytest.raises(ConfigurationError, match=r"REGISTERWATCH_MAIL_FROM: .*is needed with REGISTERWATCH_SMTP_URL"):
        load_settings()

    monkeypatch.setenv("REGISTERWATCH_MAIL_FROM", "service@example.org")
    assert load_settings().smtp_url is not None


@pytest.mark.parametrize(
    "mail_from", ["service@example.org", '"Wächter, Inc." <service@bücher.example>', "service@mailhost"]
)
def test_a_sender_without_a_mail_server_is_allowed(mail_from: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGISTERWATCH_MAIL_FROM", mail_from)

    assert load_settings().mail_from == mail_from


def test_a_mail_server_that_cannot_work_is_named_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGISTERWATCH_SMTP_URL", "mail.example.org")

    with pytest.raises(ConfigurationError) as refused:
        load_settings()

    assert "REGISTERWATCH_MAIL_FROM" not in str(refused.value)


def test_a_payment_key_needs_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGISTERWATCH_PAYMENT_API_KEY", "sk_hunter2")

    with pytest.raises(ConfigurationError) as refused:
        load_settings()

    assert "REGISTERWATCH_PAYMENT_PRICES" in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_prices_are_read_by_plan_and_need_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGISTERWATCH_PAYMENT_PRICES", " standard = price_1 , operator=price_2,")

    assert load_settings().payment_prices == {"standard": "price_1", "operator": "price_2"}


def test_a_value_given_twice_differently_stops_the_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "contact").write_text("file@example.org")
    monkeypatch.setenv("REGISTERWATCH_CONTACT", "variable@example.org")
    monkeypatch.setenv("REGISTERWATCH_CONTACT_FILE", str(tmp_path / "contact"))

    with pytest.raises(ConfigurationError, match="REGISTERWATCH_CONTACT"):
        load_settings()


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"], ids=["missing", "no text"])
def test_a_file_that_cannot_be_read_is_named(
    content: bytes | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "contact").write_bytes(content)
    monkeypatch.setenv("REGISTERWATCH_CONTACT_FILE", str(tmp_path / "contact"))

    with pytest.raises(ConfigurationError, match="REGISTERWATCH_CONTACT_FILE"):
        load_settings()


def test_an_empty_variable_is_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGISTERWATCH_DATABASE_URL", "")
    monkeypatch.setenv("REGISTERWATCH_CONTACT_FILE", "")

    assert load_settings() == Settings()


def test_a_misspelt_variable_is_noticed() -> None:
    environment = {
        "REGISTERWATCH_CONTAKT": "x",
        "REGISTERWATCH_CONTACT_FILE": "y",
        "REGISTERWATCH_CONTACT": "z",
        "HOME": "/",
    }

    assert unknown_variables(environment) == ["REGISTERWATCH_CONTAKT"]


@pytest.mark.parametrize("contact", ["müller@example.org", "ops@example.org\r\nX-Injected: 1", "日本", "ops\x00"])
def test_any_contact_makes_a_user_agent_that_can_be_sent_or_is_refused(
    contact: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        settings = Settings(contact=contact)
    except ValueError:
        return
    request = httpx2.Request("GET", "http://register.test/", headers={"User-Agent": settings.user_agent})

    sent = request.headers.raw[-1][1]
    assert b"\r" not in sent
    assert b"\n" not in sent
    assert b"\x00" not in sent
    assert not request.headers["user-agent"].lower().startswith("python")
