"""Options of the SQL gateway."""

from __future__ import annotations

from firesteel.common.options.kinds import choice, duration, host, integer_from, ports
from firesteel.common.options.option import Option

GATEWAY_ENDPOINT_TYPE = Option("sql-gateway.endpoint.type", choice("rest"), "rest", "`rest` is the only type")
GATEWAY_BIND_ADDRESS = Option(
    "sql-gateway.endpoint.rest.bind-address",
    host,
    "127.0.0.1",
    "Interface that the gateway listens on",
)
GATEWAY_PORT = Option("sql-gateway.endpoint.rest.port", integer_from(0), "8083", "Its port; 0 takes any free port")
GATEWAY_BIND_PORT = Option(
    "sql-gateway.endpoint.rest.bind-port",
    ports,
    None,
    "Port to listen on, if it differs",
    shown="that port",
)
GATEWAY_ADDRESS = Option(
    "sql-gateway.endpoint.rest.address",
    host,
    None,
    "A further name of the gateway that requests may use as `Host`",
    shown="the interface",
)
GATEWAY_SESSION_IDLE_TIMEOUT = Option(
    "sql-gateway.session.idle-timeout",
    duration,
    "10 min",
    "Sessions without requests are closed after this time; 0 keeps them",
)
GATEWAY_SESSION_CHECK_INTERVAL = Option(
    "sql-gateway.session.check-interval",
    duration,
    "1 min",
    "Interval between checks for idle sessions",
)
GATEWAY_SESSION_MAX_NUM = Option(
    "sql-gateway.session.max-num",
    integer_from(0),
    "1000000",
    "Maximum number of sessions",
)
GATEWAY_WORKER_THREADS_MAX = Option(
    "sql-gateway.worker.threads.max",
    integer_from(0),
    "500",
    "Maximum number of statements that are executed concurrently",
)
