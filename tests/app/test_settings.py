# SPDX-License-Identifier: Apache-2.0
"""The settings of an operator, and the errors of invalid ones."""

import os
from ipaddress import ip_network
from pathlib import Path

import pytest

from chamberlain.settings import Settings, SettingsInvalid, read_settings, variable


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.upper().startswith("CHAMBERLAIN_"):
            monkeypatch.delenv(name)


def _faults(**options: object) -> tuple[str, ...]:
    with pytest.raises(SettingsInvalid) as caught:
        read_settings(**options)
    return caught.value.faults


def test_it_works_with_no_settings_at_all() -> None:
    settings = read_settings()

    assert settings.host == "127.0.0.1"
    assert settings.base_url == settings.insiders_base_url == "http://127.0.0.1:8365"
    assert settings.graph_url == "http://127.0.0.1:8365/graph"
    assert settings.console_url == "http://127.0.0.1:8365"
    assert read_settings(base_url="https://Example.org/api").console_url == "https://example.org"
    assert settings.tls_url == "https://localhost:8366"
    assert settings.scope_prefix == settings.insiders_scope_prefix == "https://api.estate.example"
    assert settings.keys_file == settings.data_dir / "keys"
    assert (settings.database_url, settings.metrics_port, settings.postgres_bin) == (None, None, None)
    assert settings.listens_on_loopback


def test_it_reads_every_setting_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    values: dict[str, str] = {
        "host": "::",
        "port": "9000",
        "data_dir": "/srv/data",
        "database_url": "postgresql://app:p1@db/chamberlain",
        "database_worker_url": "postgresql://worker:p2@db/chamberlain",
        "database_owner_url": "postgresql://owner:p3@db/chamberlain",
        "database_direct_url": "postgresql://app:p1@direct/chamberlain",
        "keys_file": "/srv/keys",
        "base_url": "https://chamberlain.example.org/",
        "insiders_base_url": "https://insiders.example.org",
        "graph_url": "https://graph.example.org",
        "scope_prefix": "https://api.example.org",
        "insiders_scope_prefix": "https://insiders.example.org",
        "directory": "embedded",
        "connection_hosts": "Directory.example:5432, 10.20.0.7,/run/postgresql",
        "connection_files": "/etc/chamberlain/credentials",
        "metrics_port": "9090",
        "database_prepared_statements": "false",
        "embedded_identity": "false",
        "allow_embedded_identity": "true",
        "postgres_bin": "/usr/lib/postgresql/18/bin",
        "postgres_user": "postgres",
        "tenant_running_jobs": "7",
        "failed_request_days": "1",
        "max_connections": "100",
        "max_connections_per_address": "10",
        "connection_calls_per_second": "25",
        "retention_requests": "7",
        "retention_events": "8",
        "webhook_allowed_networks": "10.20.0.0/16, fd12:3456::/32",
        "webhook_allow_http": "true",
        "trusted_proxies": "10.20.0.7, fd12:3456::/32",
        "console_url": "https://Console.example.org/",
        "console_client_id": "chamberlain",
        "console_client_secret": "s3cret",
        "smtp_url": "smtps://ada:p4@mail.example.org",
        "smtp_sender": "Chamberlain <chamberlain@example.org>",
        "notice_link": "https://portal.example.org/{tenantId}/{requestId}",
        "reply_address": "chamberlain@replies.example.org",
        "database_start_timeout": "2.5",
        "directory_writable": "true",
        "graph_strict": "true",
        "fault_surface": "true",
        "fault_visibility_delay": "1.5",
        "fault_throttle": "3",
        "fault_not_found_after_create": "0",
        "fault_unavailable": "5/30",
        "server": "https://chamberlain.example.org/",
        "token": "eyJhbGciOi.eyJpc3Mi.c2ln",
        "context": "production",
        "config_dir": "/home/ada/config",
    }
    for name, value in values.items():
        monkeypatch.setenv(variable(name), value)

    settings = read_settings()

    assert set(values) == set(Settings.model_fields)
    assert (settings.port, settings.tls_port, settings.metrics_port) == (9000, 9001, 9090)
    assert (settings.tenant_running_jobs, settings.failed_request_days, settings.retention_requests) == (7, 1, 7)
    assert settings.retention_events == 8
    assert (settings.max_connections, settings.max_connections_per_address) == (100, 10)
    assert settings.connection_calls_per_second == 25
    assert settings.allowed_networks == (ip_network("10.20.0.0/16"), ip_network("fd12:3456::/32"))
    assert settings.webhook_allow_http
    assert settings.proxies == (ip_network("10.20.0.7"), ip_network("fd12:3456::/32"))
    assert settings.directory_writable
    assert settings.graph_strict
    assert settings.fault_surface
    assert (settings.fault_visibility_delay, settings.fault_throttle) == (1.5, 3)
    assert (settings.fault_not_found_after_create, settings.fault_unavailable) == (0, "5/30")
    assert settings.base_url == "https://chamberlain.example.org"
    assert settings.keys_file == Path("/srv/keys")
    assert settings.console_url == "https://console.example.org"
    assert settings.permitted_hosts == {"directory.example:5432", "10.20.0.7", "/run/postgresql"}
    assert settings.allow_embedded_identity
    assert not settings.embedded_identity
    assert not settings.database_prepared_statements
    assert (settings.server, settings.config_dir) == ("https://chamberlain.example.org", Path("/home/ada/config"))
    assert settings.token is not None
    assert settings.token.get_secret_value() == values["token"]
    assert settings.database_worker_url is not None
    assert settings.database_worker_url.get_secret_value() == values["database_worker_url"]


def test_it_lets_the_command_line_come_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAMBERLAIN_PORT", "9000")

    settings = read_settings(port=9100, data_dir=Path("here"))

    assert settings.base_url == "http://127.0.0.1:9100"
    assert settings.data_dir == Path.cwd() / "here"


@pytest.mark.parametrize(
    ("host", "base_url", "tls_url", "loopback"),
    [
        ("localhost", "http://localhost:8365", "https://localhost:8366", True),
        ("127.0.0.2", "http://127.0.0.2:8365", "https://localhost:8366", True),
        ("::1", "http://[::1]:8365", "https://localhost:8366", True),
        ("0.0.0.0", "http://127.0.0.1:8365", "https://localhost:8366", False),  # noqa: S104 - nothing is bound here
        ("10.1.2.3", "http://10.1.2.3:8365", "https://10.1.2.3:8366", False),
        ("chamberlain.lan", "http://chamberlain.lan:8365", "https://chamberlain.lan:8366", False),
    ],
)
def test_it_works_out_the_addresses_from_the_host(host: str, base_url: str, tls_url: str, *, loopback: bool) -> None:
    settings = read_settings(host=host)

    assert (settings.base_url, settings.tls_url, settings.listens_on_loopback) == (base_url, tls_url, loopback)


@pytest.mark.parametrize(
    ("values", "writable"),
    [
        ({}, True),
        ({"host": "::1"}, True),
        ({"host": "0.0.0.0"}, False),  # noqa: S104 - nothing is bound here
        ({"embedded_identity": "false"}, False),
        ({"database_url": "postgresql://ada@db.example.org/chamberlain"}, False),
        ({"host": "10.1.2.3", "directory_writable": "true"}, True),
        ({"directory_writable": "false"}, False),
    ],
)
def test_only_the_sample_data_can_be_written_without_a_setting(values: dict[str, str], *, writable: bool) -> None:
    assert Settings.model_validate(values).directory_writable is writable


def test_it_puts_the_data_where_the_platform_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "/home/ada/share")
    expected = "/var/lib/chamberlain" if os.geteuid() == 0 else "/home/ada/share/chamberlain"

    assert read_settings().data_dir == Path(expected)


@pytest.mark.parametrize(
    ("folder", "expected"),
    [("/home/ada/config", "/home/ada/config/chamberlain"), ("config", "/home/ada/.config/chamberlain")],
)
def test_it_keeps_who_is_signed_in_where_the_platform_keeps_settings(
    monkeypatch: pytest.MonkeyPatch, folder: str, expected: str
) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("XDG_CONFIG_HOME", folder)

    assert read_settings().config_dir == Path(expected)


def test_it_rejects_a_token_without_showing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAMBERLAIN_TOKEN", "hidden hidden")

    (fault,) = _faults()

    assert fault.startswith("CHAMBERLAIN_TOKEN has a value that is not shown here: expected an access token")
    assert "hidden hidden" not in fault


def test_it_reads_a_secret_from_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("database_url", "database_worker_url"):
        (tmp_path / name).write_text(f"postgresql://{name}:hidden@db/chamberlain\n")
        monkeypatch.setenv(f"{variable(name)}_FILE", str(tmp_path / name))

    settings = read_settings()

    assert settings.database_url is not None
    assert settings.database_url.get_secret_value() == "postgresql://database_url:hidden@db/chamberlain"
    assert settings.database_direct_url == settings.database_url
    assert "hidden" not in repr(settings) + str(settings)


def test_it_takes_an_empty_value_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAMBERLAIN_PORT", "")
    monkeypatch.setenv("CHAMBERLAIN_DATABASE_URL", "")

    assert read_settings().port == 8365


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("host", "http://here", "an IP address or a host name, such as 127.0.0.1"),
        ("host", "999.1.1.1", "an IP address or a host name, such as 127.0.0.1"),
        ("port", "x", "a whole number from 1 to 65534"),
        ("port", "65535", "a whole number from 1 to 65534"),
        ("metrics_port", "0", "a whole number from 1 to 65535"),
        (
            "connection_hosts",
            "https://a",
            "hosts, with or without a port, joined by commas, such as directory.example.org:5432,10.20.0.7",
        ),
        ("base_url", "chamberlain.example.org", "an address such as https://chamberlain.example.org"),
        ("base_url", "https://example.org:port", "an address such as https://chamberlain.example.org"),
        ("graph_url", "https://ada:pw@example.org", "an address such as https://chamberlain.example.org"),
        ("scope_prefix", "api", "an absolute prefix such as https://api.example.org"),
        ("directory", "ldap", "embedded"),
        ("allow_embedded_identity", "perhaps", "true or false"),
        ("tenant_running_jobs", "0", "a whole number from 1 to 100000"),
        ("max_connections", "15", "a whole number from 16 to 100000"),
        ("max_connections_per_address", "0", "a whole number from 1 to 100000"),
        ("connection_calls_per_second", "0", "a whole number from 1 to 100000"),
        (
            "webhook_allowed_networks",
            "10.20.0.1/16",
            "networks as CIDR blocks, joined by commas, such as 10.20.0.0/16,fd12:3456::/32",
        ),
        ("webhook_allow_http", "perhaps", "true or false"),
        (
            "trusted_proxies",
            "proxy.example.org",
            "addresses and networks as CIDR blocks, joined by commas, such as 10.20.0.7,fd12:3456::/32",
        ),
        ("fault_visibility_delay", "nan", "a number of seconds from 0 to 86400"),
        ("fault_not_found_after_create", "-1", "a number of seconds from 0 to 86400"),
        ("fault_throttle", "1", "a whole number from 2 to 100000"),
        ("fault_unavailable", "5", "seconds out of seconds, such as 5/30, the first number smaller than the second"),
        ("fault_unavailable", "0/5", "seconds out of seconds, such as 5/30, the first number smaller than the second"),
        ("fault_unavailable", "5/5", "seconds out of seconds, such as 5/30, the first number smaller than the second"),
    ],
)
def test_it_rejects_a_bad_value_with_its_name_and_cure(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, expected: str
) -> None:
    monkeypatch.setenv(variable(name), value)

    assert _faults() == (f'{variable(name)} is "{value}": expected {expected}.',)


def test_it_rejects_everything_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAMBERLAIN_PORT", "x")
    monkeypatch.setenv("CHAMBERLAIN_METRICS_PORT", "y")
    monkeypatch.setenv("CHAMBERLAIN_DATABSE_URL", "postgresql://a@b/c")

    assert [fault.split()[0] for fault in _faults()] == [
        "CHAMBERLAIN_DATABSE_URL",
        "CHAMBERLAIN_PORT",
        "CHAMBERLAIN_METRICS_PORT",
    ]


def test_it_rejects_a_bad_database_address_without_showing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAMBERLAIN_DATABASE_URL", "mysql://app:hidden@db/chamberlain")
    monkeypatch.setenv("CHAMBERLAIN_DATABASE_WORKER_URL", "postgresql://worker:hidden@db/chamberlain")

    (fault,) = _faults()

    assert fault.startswith("CHAMBERLAIN_DATABASE_URL has a value that is not shown here: expected an address such as")
    assert "hidden" not in fault


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("postgresql://role:HUSH/x@db:5432/name", "an address such as"),
        ("postgresql://role:12/HUSH@db:5432/name", "an address such as"),
        ("postgresql://role:HUSH#x@db:5432/name", "an address such as"),
        ("postgresql://role:HUSH?x@db:5432/name", "an address such as"),
        ("postgresql://role:12?HUSH=x@db:5432/name", "an address such as"),
        ("postgresql://role:HUSH[x@db:5432/name", "an address such as"),
        ("postgresql://role:HUSH@x@db:5432/name", "an address such as"),
        ("postgresql://role:HU\nSH@db:5432/name", "an address such as"),
        ("postgresql://role:HUSH@db:abc/name", "an address such as"),
        ("postgresql://role:HUSH@db:65536/name", "an address such as"),
        ("postgresql://role:HUSH@db:0/name", "an address such as"),
        ("postgresql://role:HUSH@one:5432,two:5x/name", "an address such as"),
        ("postgresql://role:HUSH@one,,two/name", "an address such as"),
        ("postgresql://role:HUSH@[::1/name", "an address such as"),
        ("postgresql://role:HUSH@[::1]5432/name", "an address such as"),
        ("postgresql://role:HUSH@db/name?sslmode", "an address such as"),
        ("postgresql://role:HUSH@/name?host=db:x", "an address such as"),
        ("postgresql://role:HUSH@/name?host=db&port=x", "an address such as"),
        ("postgresql://role:HUSH@/name?host=one,two&port=1,2,3", "an address such as"),
        ("postgresql://role:HUSH@db/name?sslmode=requird", "its sslmode to be one of disable, allow, prefer, require,"),
        ("postgresql://role:HUSH@db/name?sslnegotiation=x", "its sslnegotiation to be one of postgres, direct."),
        (
            "postgresql://role:HUSH@db/name?ssl_min_protocol_version=1",
            "its ssl_min_protocol_version to be one of TLSv1,",
        ),
        ("postgresql://role:HUSH@db/name?target_session_attrs=leader", "its target_session_attrs to be one of any,"),
    ],
)
@pytest.mark.parametrize("name", ["database_url", "database_worker_url", "database_owner_url", "database_direct_url"])
def test_it_rejects_a_database_address_that_the_driver_cannot_use(
    monkeypatch: pytest.MonkeyPatch, name: str, address: str, expected: str
) -> None:
    for role in ("database_url", "database_worker_url"):
        monkeypatch.setenv(variable(role), "postgresql://role@db/name")
    monkeypatch.setenv(variable(name), address)

    (fault,) = _faults()

    assert fault.startswith(f"{variable(name)} has a value that is not shown here: expected {expected}")
    assert "HUSH" not in fault


def test_a_database_address_that_is_refused_says_how_a_password_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAMBERLAIN_DATABASE_OWNER_URL", "postgresql://role:HUSH/x@db/name")

    (fault,) = _faults()

    assert fault.endswith("In a password / is written as %2F, # as %23, ? as %3F, @ as %40, [ as %5B and % as %25.")


@pytest.mark.parametrize(
    "address",
    [
        "postgres://db",
        "postgresql://a@/b",
        "postgresql://role:p:w%2F%23%3F%40%5B%25@db:5432/name",
        "postgresql://role:pass word@db:/name",
        "postgresql://role@[::1]:5432,10.1.2.3,[fd12::1]/name?target_session_attrs=prefer-standby",
        "postgresql://db/name?user=role&password=p@ss&sslmode=verify-full&sslrootcert=/etc/ca.pem",
        "postgresql://role@/name?host=/run/one&port=5432",
        "postgresql://role@/name?host=one:5432,two&application_name=x",
        "postgresql://role@/name?host=one,two&port=5432",
        "postgresql://role@%2Frun%2Fpostgresql/name?sslmode=verify-ca&ssl_min_protocol_version=TLSv1.3",
    ],
)
def test_it_takes_every_database_address_that_the_driver_takes(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("CHAMBERLAIN_DATABASE_OWNER_URL", address)

    owner = read_settings().database_owner_url

    assert owner is not None
    assert owner.get_secret_value() == address


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("CHAMBERLAIN_PROT", "CHAMBERLAIN_PROT is not a setting: did you mean CHAMBERLAIN_PORT?"),
        ("chamberlain_port", "chamberlain_port is not a setting: did you mean CHAMBERLAIN_PORT?"),
        ("CHAMBERLAIN_ZZZZ", "CHAMBERLAIN_ZZZZ is not a setting: docs/reference/settings.md lists all settings."),
    ],
)
def test_it_rejects_a_name_that_is_no_setting(monkeypatch: pytest.MonkeyPatch, name: str, sentence: str) -> None:
    monkeypatch.setenv(name, "8365")

    assert _faults() == (sentence,)


def test_it_leaves_the_variables_of_tests_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAMBERLAIN_TEST_ANYTHING", "x")

    assert read_settings().port == 8365


def test_it_handles_the_owners_address_alone_since_migrations_need_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAMBERLAIN_DATABASE_OWNER_URL", "postgresql://owner@db/chamberlain")

    settings = read_settings()

    assert settings.database_owner_url is not None
    assert settings.database_url is None


@pytest.mark.parametrize("given", ["database_url", "database_worker_url", "database_direct_url"])
def test_it_rejects_a_part_of_an_outside_database(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv(variable(given), "postgresql://somebody@db/chamberlain")

    missing = {"CHAMBERLAIN_DATABASE_URL", "CHAMBERLAIN_DATABASE_WORKER_URL"} - {variable(given)}

    assert {fault.split()[0] for fault in _faults()} == missing
    assert all("is missing" in fault and variable(given) in fault for fault in _faults())


def test_it_rejects_a_secret_file_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CHAMBERLAIN_DATABASE_URL_FILE", str(tmp_path / "nothing"))
    monkeypatch.setenv("CHAMBERLAIN_DATABASE_WORKER_URL", "postgresql://worker@db/chamberlain")

    assert any("nothing" in fault and "No such file" in fault for fault in _faults())


def test_it_rejects_a_secret_given_twice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "url").write_text("postgresql://app@db/chamberlain")
    monkeypatch.setenv("CHAMBERLAIN_DATABASE_URL_FILE", str(tmp_path / "url"))
    monkeypatch.setenv("CHAMBERLAIN_DATABASE_URL", "postgresql://app@db/chamberlain")
    monkeypatch.setenv("CHAMBERLAIN_DATABASE_WORKER_URL", "postgresql://worker@db/chamberlain")

    assert _faults() == ("CHAMBERLAIN_DATABASE_URL and CHAMBERLAIN_DATABASE_URL_FILE are both set: keep one of them.",)


@pytest.mark.parametrize(
    "url",
    [
        "smtp://localhost",
        "smtp://10.1.2.3:2525",
        "smtp://[::1]:25/",
        "smtp://ada%40example.org:p%3Aq@mail.example.org:587?starttls=required",
        "smtp://mail.example.org?starttls=never",
        "smtps://ada:secret@mail.example.org",
    ],
)
def test_it_takes_a_mail_server(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("CHAMBERLAIN_SMTP_URL", url)

    settings = read_settings()

    assert settings.smtp_url is not None
    assert settings.smtp_url.get_secret_value() == url
    assert settings.database_url is None
    assert url not in repr(settings)


@pytest.mark.parametrize(
    "url",
    [
        "mail.example.org",
        "http://mail.example.org",
        "smtp://",
        "smtp://:25",
        "smtp://mail.example.org:0",
        "smtp://mail.example.org:65536",
        "smtp://mail.example.org/folder",
        "smtp://mail.example.org?starttls=maybe",
        "smtps://mail.example.org?starttls=required",
        "smtp://ada:hidden@mail.example.org?tls=1",
        "smtp://ada@mail.example.org",
        "smtp://:hidden@mail.example.org",
    ],
)
def test_it_rejects_what_is_no_mail_server(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("CHAMBERLAIN_SMTP_URL", url)

    (fault,) = _faults()

    assert fault.startswith("CHAMBERLAIN_SMTP_URL has a value that is not shown here: expected an address such as smtp")
    assert "hidden" not in fault


@pytest.mark.parametrize(
    ("base_url", "sender"),
    [
        ("http://127.0.0.1:8365", "Chamberlain <chamberlain@localhost>"),
        ("https://chamberlain.example.org", "Chamberlain <chamberlain@chamberlain.example.org>"),
    ],
)
def test_it_works_out_whom_mail_comes_from(base_url: str, sender: str) -> None:
    assert read_settings(base_url=base_url).smtp_sender == sender


@pytest.mark.parametrize("sender", ["chamberlain@example.org", "IT <it@example.org>", "Zürich, IT <it@[127.0.0.1]>"])
def test_it_takes_a_sender(sender: str) -> None:
    assert read_settings(smtp_sender=sender).smtp_sender == sender


@pytest.mark.parametrize("sender", ["it", "it@", "a@b@c", "it@example.org, eve@evil.example", "IT\n <it@example.org>"])
def test_it_rejects_a_sender_that_is_none(sender: str) -> None:
    assert "CHAMBERLAIN_SMTP_SENDER" in _faults(smtp_sender=sender)[0]


@pytest.mark.parametrize(
    "link",
    [
        "https://portal.example.org/",
        "portal/{requestId}",
        "https://x.example/{requestId}{other}",
        "javascript:{requestId}",
    ],
)
def test_it_rejects_a_link_without_its_request(link: str) -> None:
    assert "CHAMBERLAIN_NOTICE_LINK" in _faults(notice_link=link)[0]


def test_it_cannot_be_changed_afterwards() -> None:
    settings = read_settings()

    with pytest.raises(ValueError, match="frozen"):
        settings.port = 1
