"""Options of high availability."""

from __future__ import annotations

from firesteel.common.options.kinds import boolean, choice, duration, integer_from, number, path, string
from firesteel.common.options.option import Option

HA_TYPE = Option(
    "high-availability.type",
    choice("NONE", "embedded", "filesystem", "zookeeper"),
    "NONE",
    "`NONE`, `embedded`, `filesystem` or `zookeeper`",
)
HA_CLUSTER_ID = Option(
    "high-availability.cluster-id",
    string,
    "/default",
    "Distinguishes clusters that share storage or ZooKeeper",
)
HA_STORAGE_DIR = Option(
    "high-availability.storageDir",
    path,
    None,
    "Directory of job graphs and results, or a URI such as `s3://bucket/ha`",
)
HA_LEASE_DURATION = Option(
    "high-availability.object-store.lease-duration",
    duration,
    "15 s",
    "With `filesystem` in an object store: time after which a leader that is not heard of is replaced",
)
HA_RETRY_PERIOD = Option(
    "high-availability.object-store.retry-period",
    duration,
    "2 s",
    "With `filesystem` in an object store: time between two renewals of the lease, and between two looks at it",
)
ZOOKEEPER_QUORUM = Option("high-availability.zookeeper.quorum", string, None, "`host:port,host:port`")
ZOOKEEPER_PATH_ROOT = Option("high-availability.zookeeper.path.root", string, "/flink", "Root node")
ZOOKEEPER_SESSION_TIMEOUT = Option(
    "high-availability.zookeeper.client.session-timeout",
    duration,
    "1 min",
    "Time after which ZooKeeper considers a silent process dead",
)
ZOOKEEPER_CONNECTION_TIMEOUT = Option(
    "high-availability.zookeeper.client.connection-timeout",
    duration,
    "15 s",
    "Time that the first connection may take",
)
ZOOKEEPER_RETRY_WAIT = Option(
    "high-availability.zookeeper.client.retry-wait",
    duration,
    "5 s",
    "Pause before a lost command is retried",
)
ZOOKEEPER_MAX_RETRY_ATTEMPTS = Option(
    "high-availability.zookeeper.client.max-retry-attempts",
    integer_from(0),
    "3",
    "Number of retries",
)
ZOOKEEPER_TOLERATE_SUSPENDED_CONNECTIONS = Option(
    "high-availability.zookeeper.client.tolerate-suspended-connections",
    boolean,
    "false",
    "Keep leading until the session is lost, not only the connection",
)
ZOOKEEPER_ACL = Option(
    "high-availability.zookeeper.client.acl",
    choice("open", "creator"),
    "open",
    "`creator`: only the cluster's processes may read and write the nodes",
)
ZOOKEEPER_AUTHORIZATION = Option(
    "high-availability.zookeeper.client.authorization",
    string,
    None,
    "Credentials of `creator`, `digest:'user:password'`",
    shown="derived from the secret",
)
JOB_RESULT_STORE_DELETE_ON_COMMIT = Option(
    "job-result-store.delete-on-commit",
    boolean,
    "true",
    "Delete the result of a job after its cleanup",
)
CLEANUP_INITIAL_BACKOFF = Option(
    "cleanup-strategy.exponential-delay.initial-backoff",
    duration,
    "1 s",
    "First delay before a failed cleanup is retried",
)
CLEANUP_MAX_BACKOFF = Option("cleanup-strategy.exponential-delay.max-backoff", duration, "1 h", "Longest delay")
CLEANUP_ATTEMPTS = Option(
    "cleanup-strategy.exponential-delay.attempts",
    number,
    "inf",
    "Number of attempts",
    shown="unlimited",
)
