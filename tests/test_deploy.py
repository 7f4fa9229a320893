"""What is in `deploy/` and the image: it parses, names what is there, and gives away no more rights than needed."""

import json
import re
import tomllib
from configparser import RawConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # comes without types

from registerwatch.errors import ConfigurationError
from registerwatch.settings import Settings, load_settings, variable_name
from registerwatch.web.limits.body_limits import LARGER_BODIES, MAX_BODY_BYTES
from tests.support.command_words import command_words

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
IMAGE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
COMPOSE = sorted(DEPLOY.glob("compose.*.yml"))
UNITS = sorted((DEPLOY / "systemd").iterdir())
SERVICES = [unit for unit in UNITS if unit.suffix == ".service"]
OURS = "registerwatch:${TAG:-latest}"
FILES = [ROOT / "Dockerfile", ROOT / "docs" / "deploy.md", *(path for path in DEPLOY.rglob("*") if path.is_file())]


def _services(path: Path) -> dict[str, dict[str, Any]]:
    services: dict[str, dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))["services"]
    return services


def _ours() -> list[Any]:
    """Every service that runs our image, by file and name."""
    return [
        pytest.param(service, id=f"{path.name}-{name}")
        for path in COMPOSE
        for name, service in _services(path).items()
        if service["image"] == OURS
    ]


def _unit(path: Path) -> dict[str, dict[str, list[str]]]:
    """The sections of a unit; a key may come several times."""
    sections: dict[str, dict[str, list[str]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = sections.setdefault(line.strip("[]"), {})
        elif line and not line.startswith("#"):
            name, _, value = line.partition("=")
            section.setdefault(name, []).append(value)
    return sections


def _is_command(words: list[str]) -> bool:
    return any(words[: len(command)] == command for command in command_words())


def test_there_are_files_to_look_at() -> None:
    assert [path.name for path in COMPOSE] == ["compose.fleet.yml", "compose.single.yml"]
    assert {unit.suffix for unit in UNITS} == {".conf", ".service", ".timer"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_variable_that_is_named_is_a_setting(path: Path) -> None:
    known = {variable_name(name) for name in Settings.model_fields}
    named = set(re.findall(r"REGISTERWATCH_[A-Z_]*[A-Z]", path.read_text(encoding="utf-8")))
    assert {name.removesuffix("_FILE") for name in named} <= known


def test_every_command_of_the_page_is_there() -> None:
    spans = re.findall(r"`([^`\n]+)`", PAGE) + re.findall(r"^ {4,}(.*)$", PAGE, flags=re.MULTILINE)
    named = [
        match
        for span in spans
        for match in re.findall(r"(?:^|[ /])registerwatch (?!registerwatch )([a-z]+(?: [a-z-]+)?)", span)
    ]
    assert named
    assert [words for words in named if not _is_command(words.split())] == []


@pytest.mark.parametrize("service", _ours())
def test_every_command_in_compose_is_there(service: dict[str, Any]) -> None:
    words = service.get("command", json.loads(re.findall(r"^CMD (\[.*\])$", IMAGE, flags=re.MULTILINE)[0]))
    assert _is_command(words)


@pytest.mark.parametrize("unit", SERVICES, ids=lambda unit: unit.name)
def test_every_command_of_a_unit_is_there(unit: Path) -> None:
    (start,) = _unit(unit)["Service"]["ExecStart"]
    assert _is_command(start.partition("/opt/registerwatch/bin/registerwatch ")[2].split())


def test_the_image_installs_only_what_has_the_hash_of_the_lock() -> None:
    installs = re.findall(r"pip install (.*)", IMAGE)
    assert installs
    for install in installs:
        assert "--require-hashes" in install or "--no-deps --no-build-isolation" in install, install


def test_the_image_runs_as_a_user_without_a_name_and_ends_on_a_signal() -> None:
    final = IMAGE.rpartition("\nFROM ")[2]
    assert re.search(r"^USER [1-9][0-9]*:[1-9][0-9]*$", final, flags=re.MULTILINE)
    assert 'ENTRYPOINT ["registerwatch"]' in final
    assert "STOPSIGNAL SIGTERM" in final
    assert "HEALTHCHECK" in final


def test_the_image_is_of_the_version_of_the_program() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"ARG VERSION={project['version']}\n" in IMAGE


def test_freed_memory_is_given_back_wherever_the_service_is_started() -> None:
    final = IMAGE.rpartition("\nFROM ")[2]
    assert "    MALLOC_ARENA_MAX=2 \\\n    MALLOC_MMAP_THRESHOLD_=524288 \\\n" in final
    assert all("MALLOC_" not in path.read_text(encoding="utf-8") for path in COMPOSE), "the image's holds"
    for name in ("registerwatch.service", "registerwatch-work.service"):
        set_there = _unit(DEPLOY / "systemd" / name)["Service"]["Environment"]
        assert any("MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=524288" in each for each in set_there)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^run:.*\n\tMALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=524288 ", makefile, flags=re.MULTILINE)


def test_nothing_goes_into_the_image_that_is_not_named() -> None:
    rules = [line for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    assert rules[0] == "*"
    assert {rule for rule in rules if rule.startswith("!")} == {
        "!pyproject.toml",
        "!README.md",
        "!requirements.lock",
        "!requirements-sbom.lock",
        "!src",
        "!docs/*.md",
    }


@pytest.mark.parametrize("service", _ours())
def test_a_container_can_write_to_its_data_alone_and_gain_no_rights(service: dict[str, Any]) -> None:
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service
    assert "user" not in service
    assert "no-new-privileges:true" in service["security_opt"]


@pytest.mark.parametrize("path", COMPOSE, ids=lambda path: path.name)
def test_every_service_is_watched_and_no_image_is_without_a_tag(path: Path) -> None:
    for name, service in _services(path).items():
        assert ":" in service["image"], name
        assert "healthcheck" in service or name == "proxy", name


@pytest.mark.parametrize("path", COMPOSE, ids=lambda path: path.name)
def test_secrets_come_as_files_that_are_declared(path: Path) -> None:
    declared = set(yaml.safe_load(path.read_text(encoding="utf-8"))["secrets"])
    for name, service in _services(path).items():
        given = set(service.get("secrets", ()))
        values = {key: str(value) for key, value in service.get("environment", {}).items()}
        used = {value.removeprefix("/run/secrets/") for key, value in values.items() if key.endswith("_FILE")}
        assert used == given <= declared, name
        assert not {"DATABASE_URL", "SMTP_URL", "PAYMENT_API_KEY", "PAYMENT_WEBHOOK_SECRET"} & {
            key.removeprefix("REGISTERWATCH_") for key in values
        }, name


def test_each_node_of_the_fleet_keeps_an_index_of_its_own_and_is_known_to_the_proxy() -> None:
    services = _services(DEPLOY / "compose.fleet.yml")
    nodes = {name: service for name, service in services.items() if name.startswith("node-")}
    assert len(nodes) >= 2
    assert len({service["volumes"][0].partition(":")[0] for service in nodes.values()}) == len(nodes)
    assert services["proxy"]["environment"]["NODES"].split() == [f"{name}:8000" for name in nodes]
    proxy = services["proxy"]["networks"]["outside"]["ipv4_address"]
    assert all(node["environment"]["REGISTERWATCH_TRUSTED_PROXIES"] == proxy for node in nodes.values())


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_units_parse(unit: Path) -> None:
    RawConfigParser(strict=False).read_string(unit.read_text(encoding="utf-8"))
    assert set(_unit(unit)) <= {"Unit", "Service", "Timer", "Install"}


@pytest.mark.parametrize("unit", SERVICES, ids=lambda unit: unit.name)
def test_units_give_no_right_that_is_not_needed(unit: Path) -> None:
    service = _unit(unit)["Service"]
    assert service["User"] == ["registerwatch"]
    assert service["CapabilityBoundingSet"] == [""]
    for name in ("NoNewPrivileges", "MemoryDenyWriteExecute", "PrivateTmp", "PrivateDevices", "RestrictNamespaces"):
        assert service[name] == ["yes"], name
    assert service["ProtectSystem"] == ["strict"]
    assert service["SystemCallFilter"][0] == "@system-service"


@pytest.mark.parametrize("name", ["Caddyfile", "nginx/registerwatch.conf"])
def test_proxies_name_the_client_bound_what_it_sends_and_pass_no_metrics_on(name: str) -> None:
    text = (DEPLOY / name).read_text(encoding="utf-8")
    assert "/ready" in text or "ready)" in text
    assert "metrics" in text
    assert "client_max_body_size 10m;" in text or "max_size" in text
    for policy in ("Cross-Origin-Resource-Policy", "Cross-Origin-Opener-Policy"):
        assert re.search(rf"(add_header |header \?){policy} ", text)
    assert "max-age=31536000; includeSubDomains" in text
    assert 'Forwarded ""' in text or "-Forwarded" in text
    assert 'X-Real-IP ""' in text or "-X-Real-IP" in text
    assert "client_header_timeout" in text or "read_header" in text
    assert "$request " not in text
    assert "proxy_add_x_forwarded_for" not in text


def test_nginx_puts_nothing_decoded_into_a_header() -> None:
    """`$uri` and what it was matched by are decoded: `%0d%0a` in them would begin a header, or an answer."""
    text = (DEPLOY / "nginx" / "registerwatch.conf").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.strip().startswith("#")]
    risky = [
        line for line in lines if re.search(r"\b(?:return|rewrite|add_header|proxy_set_header|proxy_pass)\b", line)
    ]
    assert risky
    assert [line for line in risky if re.search(r"\$(?:uri|document_uri|[0-9]|args|arg_)", line)] == []
    assert any("return 301 https://" in line and line.rstrip().endswith("$request_uri;") for line in risky)


def test_nginx_locations_that_set_a_header_set_all_of_them() -> None:
    """A header that is set in a location drops those of the server."""
    text = (DEPLOY / "nginx" / "registerwatch.conf").read_text(encoding="utf-8")
    server = text.rpartition("server {")[2]
    before, *locations = re.split(r"^ {4}location ", server, flags=re.MULTILINE)
    for name in ("proxy_set_header", "add_header"):
        everywhere = set(re.findall(rf"^ {{4}}{name} (\S+)", before, flags=re.MULTILINE))
        assert everywhere
        for location in locations:
            inside = set(re.findall(rf"^ {{8}}{name} (\S+)", location, flags=re.MULTILINE))
            assert not inside or everywhere <= inside, location


@pytest.mark.parametrize("unit", SERVICES, ids=lambda unit: unit.name)
def test_units_keep_what_is_stored_and_in_memory_to_themselves(unit: Path) -> None:
    service = _unit(unit)["Service"]
    assert (service["UMask"], service["StateDirectoryMode"], service["LimitCORE"]) == (["0077"], ["0700"], ["0"])
    assert not [value for value in service.get("Environment", []) if re.search("SECRET|KEY|PASSWORD", value)]


def test_data_in_containers_is_for_the_service_alone() -> None:
    assert "-m 0700 /data" in IMAGE
    assert all("mode=0750" not in path.read_text(encoding="utf-8") for path in COMPOSE)


def test_no_client_can_make_caddy_leave_out_a_node() -> None:
    """Caddy counts a client's body that is too large or breaks off as a failure of the node, where it counts any."""
    lines = [line.strip() for line in (DEPLOY / "Caddyfile").read_text(encoding="utf-8").splitlines()]
    assert not [line for line in lines if line.startswith(("fail_duration", "max_fails", "unhealthy_"))]


def test_nginx_takes_no_larger_body_than_the_service() -> None:
    text = (DEPLOY / "nginx" / "registerwatch.conf").read_text(encoding="utf-8")
    sizes = {f"{size // 1024}k": size for size in (MAX_BODY_BYTES, *LARGER_BODIES.values())}
    sizes |= {f"{size}m": size * 1024**2 for size in (2, 10)}
    located = dict(re.findall(r"location = (\S+) \{\n +client_max_body_size (\w+);", text))
    assert re.search(r"^    client_max_body_size 64k;$", text, flags=re.MULTILINE)
    assert {path: sizes[size] for path, size in located.items()} == LARGER_BODIES


def test_caddy_takes_the_longest_body_that_the_service_takes() -> None:
    text = (DEPLOY / "Caddyfile").read_text(encoding="utf-8")
    assert re.findall(r"max_size (\S+)", text) == [f"{max(LARGER_BODIES.values()) // 1024}KiB"]


@pytest.mark.parametrize("service", [each for each in _ours() if "backup" not in each.id and "upgrade" not in each.id])
def test_whatever_stores_secrets_starts_with_the_key_that_encrypts_them_or_not_at_all(
    service: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is missing or empty ends the start; a container whose secret has no file is not even made."""
    assert service["environment"]["REGISTERWATCH_SECRETS_KEY_FILE"] == "/run/secrets/secrets-key"
    assert "secrets-key" in service["secrets"]
    empty = tmp_path / "empty"
    empty.touch()
    for path in (empty, tmp_path / "missing"):
        monkeypatch.setenv("REGISTERWATCH_SECRETS_KEY_FILE", str(path))
        with pytest.raises(ConfigurationError):
            load_settings()


def test_nginx_logs_no_error_of_an_address_with_a_token() -> None:
    """Nginx logs whole addresses with its errors, and whoever reads a token there can use it."""
    text = (DEPLOY / "nginx" / "registerwatch.conf").read_text(encoding="utf-8")
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    silent = re.findall(r"location ([=~]) (\S+) \{\n +error_log /dev/null emerg;", text)
    with_token = set(re.findall(r"\{(?:self\._)?(?:public_url|base)\}(/[a-z./]+)\?(?:token=|\{query\})", source))
    assert {"/password/reset", "/events.atom"} <= with_token
    for path in (path if path.count("/") > 1 else f"/v1{path}" for path in with_token):
        assert any(path == where if kind == "=" else re.match(where, path) for kind, where in silent), path


def test_proxies_lead_people_to_https_and_refuse_programs_that_come_without_it() -> None:
    """Who is led on would send a key in the clear each time, and not notice."""
    nginx = (DEPLOY / "nginx" / "registerwatch.conf").read_text(encoding="utf-8").partition("listen 443")[0]
    caddy = (DEPLOY / "Caddyfile").read_text(encoding="utf-8").partition("http://{$SITE")[2].partition("\n}\n")[0]
    assert re.search(r"location ~ \^/\(v1\|mcp\)\(/\|\$\) \{[^}]*return 403 ", nginx)
    assert "not path /v1 /v1/* /mcp /mcp/*" in caddy
    assert "` 403" in caddy
    assert all("https-needed" in each for each in (nginx, caddy))


def test_nginx_sends_a_search_on_that_a_node_cannot_answer_yet_and_leaves_no_node_out_for_it() -> None:
    text = (DEPLOY / "nginx" / "registerwatch.conf").read_text(encoding="utf-8")
    upstreams = dict(re.findall(r"^upstream (\w+) \{\n(.*?)^\}", text, flags=re.MULTILINE | re.DOTALL))
    nodes = {name: re.findall(r"server (\S+)", block) for name, block in upstreams.items()}
    assert nodes["registerwatch_search"] == nodes["registerwatch"]
    assert re.findall(r"server \S+ (.*);", upstreams["registerwatch_search"]) == ["max_fails=0"] * 2
    for path in ("/v1/search", "/"):
        [location] = re.findall(rf"location = {path} \{{\n(.*?)    \}}", text, flags=re.DOTALL)
        assert "proxy_pass http://registerwatch_search;" in location
        assert "proxy_next_upstream error timeout http_503;" in location
    assert "http_503" not in text.partition("location /")[0], "nothing else is asked twice for it"


def test_nginx_takes_ciphers_with_forward_secrecy_and_authenticated_encryption_alone() -> None:
    text = (DEPLOY / "nginx" / "registerwatch.conf").read_text(encoding="utf-8")
    [ciphers] = re.findall(r"^    ssl_ciphers (\S+);$", text, flags=re.MULTILINE)
    assert all(
        re.fullmatch(r"ECDHE-(ECDSA|RSA)-(AES\d+-GCM-SHA\d+|CHACHA20-POLY1305)", each) for each in ciphers.split(":")
    )


def test_the_service_does_not_administer_the_server_of_its_database() -> None:
    services = _services(DEPLOY / "compose.fleet.yml")
    script = (DEPLOY / "postgres" / "role.sh").read_text(encoding="utf-8")
    assert services["postgres"]["environment"]["POSTGRES_USER"] == "postgres"
    assert [name for name, service in services.items() if "postgres-admin-password" in service.get("secrets", [])] == [
        "postgres"
    ]
    assert "CREATE ROLE registerwatch LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE" in script
    assert "CREATE DATABASE registerwatch OWNER registerwatch" in script
    assert "postgresql://registerwatch:" in PAGE
