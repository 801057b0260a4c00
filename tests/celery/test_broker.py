"""The broker of a Celery app as a server of ours, its URL and its settings."""

import ssl
import subprocess
import sys
from typing import Any

import pytest
from celery import Celery

from soloist.celery.broker import server_of
from soloist.celery.conf import configuration_of
from soloist.errors import UsageError


def app(url: str = "redis://localhost", **conf: Any) -> Celery:
    made = Celery("shop", broker=url, set_as_current=False)
    made.conf.update(conf)
    return made


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("redis://", "redis://127.0.0.1:6379/0"),
        ("redis://db.example:7000/3", "redis://db.example:7000/3"),
        ("redis://:p%40ss%2F@db.example//3", "redis://:p%40ss%2F@db.example:6379/3"),
        ("redis://ann:secret@db.example", "redis://ann:secret@db.example:6379/0"),
        ("redis+socket:///run/redis/redis.sock", "unix:///run/redis/redis.sock?db=0"),
        ("redis+socket:///run/redis/redis.sock?virtual_host=4", "unix:///run/redis/redis.sock?db=4"),
        ("redis+socket://:secret@/run/redis/redis.sock", "unix://:secret@/run/redis/redis.sock?db=0"),
        ("rediss://db.example?ssl_cert_reqs=CERT_REQUIRED", "rediss://db.example:6379/0?ssl_cert_reqs=required"),
        ("rediss://db.example?ssl_cert_reqs=none", "rediss://db.example:6379/0?ssl_cert_reqs=none"),
    ],
)
def test_the_broker_is_the_server(given: str, url: str) -> None:
    """Its own Redis and database, as kombu reads its URL."""
    assert server_of(app(given)).url == url


def test_tls_by_setting() -> None:
    """broker_use_ssl, as Celery documents it."""
    use = {"ssl_cert_reqs": ssl.CERT_REQUIRED, "ssl_ca_certs": "/etc/ca.pem"}

    server = server_of(app("redis://db.example", broker_use_ssl=use))

    assert server.url == "rediss://db.example:6379/0?ssl_cert_reqs=required&ssl_ca_certs=%2Fetc%2Fca.pem"
    assert server.uses_tls


def test_the_broker_for_writing_counts() -> None:
    """It is where the messages go."""
    made = app("redis://reads", broker_write_url="redis://writes")

    assert server_of(made).url == "redis://writes:6379/0"


def test_a_class_of_ones_own_for_credentials_is_refused() -> None:
    """Our connections could not ask it."""
    with pytest.raises(UsageError, match="credential_provider"):
        server_of(app("redis://localhost?credential_provider=proj.Provider"))


def test_without_settings_the_defaults_count() -> None:
    """The namespace belongs to the project: another one is refused in it."""
    found = configuration_of(app())

    assert (found.namespace, found.name) == ("celery-beat", "celery-beat:shop")
    assert (found.settings.lease, found.settings.claim_lease, found.settings.heartbeat) == (2.0, 10.0, 0.15)


def test_settings_are_taken_from_the_configuration() -> None:
    """The lease of presence is never shorter than that of the term, and need not be named."""
    found = configuration_of(app(soloist_namespace="beats", soloist_lease=30, soloist_heartbeat="0.2"))

    assert found.namespace == "beats"
    assert (found.settings.lease, found.settings.claim_lease, found.settings.heartbeat) == (30, 30, 0.2)


def test_settings_with_a_prefix_of_the_users_own() -> None:
    """As Django projects have it: CELERY_SOLOIST_LEASE."""
    made = Celery("shop", broker="redis://", set_as_current=False)
    made.config_from_object({"CELERY_SOLOIST_LEASE": 5}, namespace="CELERY")

    assert configuration_of(made).settings.lease == 5


def test_two_projects_on_one_database_are_told_apart() -> None:
    """By their names, and by their prefixes."""
    prefixed = app(broker_transport_options={"global_keyprefix": "staging:"})

    assert configuration_of(prefixed).name == "celery-beat:shop:staging:"


def test_who_imports_soloist_does_not_import_celery() -> None:
    """It costs a third of a second, and is an extra."""
    code = "import soloist, soloist.cli.main, soloist.running, sys; assert not {'celery', 'kombu'} & {*sys.modules}"

    subprocess.run([sys.executable, "-c", code], check=True)
