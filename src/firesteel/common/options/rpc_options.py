"""Options of network addresses and RPC."""

from __future__ import annotations

from firesteel.common.options.kinds import duration, host, integer_from, memory, path, positive_duration, string
from firesteel.common.options.option import Option

JOBMANAGER_RPC_ADDRESS = Option(
    "jobmanager.rpc.address",
    host,
    "127.0.0.1",
    "Address at which executors reach the JobManager and its Spark driver",
)
JOBMANAGER_RPC_PORT = Option("jobmanager.rpc.port", integer_from(0), "6123", "Port of the JobManager")
JOBMANAGER_BIND_HOST = Option(
    "jobmanager.bind-host",
    host,
    None,
    "Interface that the JobManager listens on",
    shown="the address",
)
TASKMANAGER_HOST = Option("taskmanager.host", host, "127.0.0.1", "Address of a TaskExecutor")
TASKMANAGER_RPC_PORT = Option(
    "taskmanager.rpc.port",
    integer_from(0),
    "0",
    "Port of a TaskExecutor; 0 takes any free port",
)
TASKMANAGER_BIND_HOST = Option(
    "taskmanager.bind-host",
    host,
    None,
    "Interface that a TaskExecutor listens on",
    shown="the host",
)
TASKMANAGER_RESOURCE_ID = Option(
    "taskmanager.resource-id",
    string,
    None,
    "Name of a TaskExecutor in the cluster",
    shown="host and a random part",
)
TASKMANAGER_REGISTRATION_TIMEOUT = Option(
    "taskmanager.registration.timeout",
    duration,
    "5 min",
    "A TaskExecutor exits if no ResourceManager accepts it for this long",
)
TASKMANAGER_LOG_PATH = Option(
    "taskmanager.log.path",
    path,
    None,
    "Log file of a TaskExecutor; set by the process that starts it",
)
RPC_ASK_TIMEOUT = Option("pekko.ask.timeout", positive_duration, "10 s", "Time that an RPC caller waits for an answer")
RPC_FRAMESIZE = Option("pekko.framesize", memory, "10 mb", "Largest RPC message")
HEARTBEAT_INTERVAL = Option("heartbeat.interval", positive_duration, "10 s", "Time between heartbeats")
HEARTBEAT_TIMEOUT = Option(
    "heartbeat.timeout",
    positive_duration,
    "50 s",
    "Time without heartbeat after which a peer counts as lost",
)
REGISTRATION_INITIAL_TIMEOUT = Option(
    "cluster.registration.initial-timeout",
    duration,
    "100 ms",
    "Timeout of the first registration attempt; doubled for each further one",
)
REGISTRATION_MAX_TIMEOUT = Option(
    "cluster.registration.max-timeout",
    duration,
    "30 s",
    "Longest timeout of a registration attempt",
)
REGISTRATION_ERROR_DELAY = Option(
    "cluster.registration.error-delay",
    duration,
    "10 s",
    "Pause after an attempt that failed",
)
REGISTRATION_REFUSED_REGISTRATION_DELAY = Option(
    "cluster.registration.refused-registration-delay",
    duration,
    "30 s",
    "Pause after an attempt that was refused",
)
