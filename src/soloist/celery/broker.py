"""The broker of a Celery app as a server of ours; and why some brokers cannot be one."""

from enum import Enum
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from kombu.transport import TRANSPORT_ALIASES, redis

from soloist.errors import UsageError
from soloist.store.server import Server

EXCHANGE_TYPES = ("direct", "topic", "fanout")

NEEDS = "The scheduler `soloist` keeps who sends, and what was sent, beside Celery's own queues in Redis or Valkey"
OTHERWISE = "For any other broker use Celery's own beat, and run it once."


def server_of(app: Any) -> Server:
    """Where the messages of this Celery app go.

    Raises:
        UsageError: nothing there could be fenced; the message says why.
    """
    if app.conf.task_always_eager:
        raise UsageError(
            "task_always_eager is on: nothing would be sent, each beat would run the tasks itself. Turn it off."
        )
    try:
        connection = app.connection_for_write()
    except (ImportError, KeyError) as error:  # a transport that is not installed, or that nobody knows
        transport = str(app.conf.broker_write_url).partition(":")[0]
        raise UsageError(_not_redis(transport)) from error
    _refuse_transport(connection)
    if len(set(connection.alt)) > 1:
        raise UsageError(
            "broker_url names several brokers to fail over between. Who sends is decided in one place: name one server."
        )
    if connection.credential_provider:
        raise UsageError("a credential_provider of the broker is not supported: put user and password into broker_url.")
    for queue in app.amqp.queues.values():
        if queue.exchange.type not in EXCHANGE_TYPES:
            raise UsageError(
                f"the exchange {queue.exchange.name!r} of the queue {queue.name!r} is of the type "
                f"{queue.exchange.type!r}; on Redis Celery knows {', '.join(EXCHANGE_TYPES)}."
            )
    return Server(_url(connection), where="broker_url")


def _refuse_transport(connection: Any) -> None:
    name = connection.transport_cls
    path = TRANSPORT_ALIASES.get(name, name) if isinstance(name, str) else name
    ours = (redis.Transport, "kombu.transport.redis:Transport", "kombu.transport.redis.Transport")
    if path in ours:
        return
    if name == "sentinel" or "Sentinel" in str(path):
        raise UsageError(
            f"the broker is watched over by Sentinels, which is not supported yet. {NEEDS}: name a single server. {OTHERWISE}"
        )
    raise UsageError(_not_redis(str(name)))


def _not_redis(transport: str) -> str:
    return f"the broker's transport is {transport}, not Redis. {NEEDS} (broker_url = 'redis://…'). {OTHERWISE}"


def _url(connection: Any) -> str:
    """As the client library wants it; kombu takes its own (a socket's path, TLS) apart already."""
    if "://" in (connection.hostname or ""):
        parts = urlsplit(connection.hostname)
        options = dict(parse_qsl(parts.query))
        db = str(options.pop("virtual_host", connection.virtual_host) or 0).strip("/") or "0"
        login, at, host = parts.netloc.rpartition("@")
        path = f"/{host}{parts.path}" if host else parts.path
        return f"unix://{login}{at}{path}?db={db}"
    login = ""
    if connection.password:
        login = f"{quote(connection.userid or '', safe='')}:{quote(connection.password, safe='')}@"
    host = connection.hostname or "127.0.0.1"
    host = f"[{host}]" if ":" in host else host
    db = str(connection.virtual_host or 0).strip("/") or "0"
    url = f"{login}{host}:{connection.port or 6379}/{db}"
    if not isinstance(connection.ssl, dict):
        return f"redis://{url}"
    return f"rediss://{url}?{urlencode({name: _tls(value) for name, value in connection.ssl.items()})}"


def _tls(value: Any) -> Any:
    """ssl.CERT_NONE and its like by the words that the client library reads."""
    return value.name.removeprefix("CERT_").lower() if isinstance(value, Enum) else value
