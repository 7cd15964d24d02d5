"""Options of the REST API, the dashboard and the store of finished jobs."""

from __future__ import annotations

from firesteel.common.options.kinds import boolean, choice, duration, host, integer_from, memory, ports, strings
from firesteel.common.options.option import Option

REST_BIND_ADDRESS = Option("rest.bind-address", host, "127.0.0.1", "Interface that the REST API listens on")
REST_PORT = Option("rest.port", integer_from(0), "8081", "Its port; 0 takes any free port")
REST_BIND_PORT = Option(
    "rest.bind-port",
    ports,
    None,
    "Ports to listen on, of which the first free one is taken, such as `8081-8090`",
    shown="that of `rest.port`",
)
REST_ADDRESS = Option("rest.address", host, "127.0.0.1", "Address of the REST API, for clients")
REST_RETRY_MAX_ATTEMPTS = Option(
    "rest.retry.max-attempts",
    integer_from(1),
    "20",
    "Most attempts of a client that asks a JobManager which is away, after that has answered it once",
)
REST_RETRY_DELAY = Option(
    "rest.retry.delay", duration, "3 s", "Longest time between two attempts; the first ones follow sooner"
)
REST_SERVER_MAX_CONTENT_LENGTH = Option(
    "rest.server.max-content-length",
    memory,
    "512 mb",
    "Largest request; larger ones get status 413",
)
REST_SERVER_MAX_CONCURRENT_UPLOADS = Option(
    "rest.server.max-concurrent-uploads",
    integer_from(1),
    "4",
    "Jobs that may be uploaded concurrently; further ones get status 429 and `Retry-After`",
)
WEB_SUBMIT_ENABLE = Option("web.submit.enable", boolean, "true", "Accept jobs at all")
WEB_CANCEL_ENABLE = Option("web.cancel.enable", boolean, "true", "Allow jobs to be cancelled from the dashboard")
WEB_EXCEPTION_HISTORY_SIZE = Option(
    "web.exception-history-size", integer_from(0), "16", "Failures of a job that the REST API shows at most"
)
WEB_ALLOWED_ORIGINS = Option(
    "web.access-control-allow-origin",
    strings,
    None,
    "Origins of other pages that may use the REST API; `*` allows all",
)
JOB_STORE_MAX_CAPACITY = Option(
    "completed-application-store.max-capacity",
    integer_from(0),
    "2147483647",
    "Number of finished jobs to keep; `web.history` is an older name",
    shown="unlimited",
    fallback=("web.history",),
)
JOB_STORE_EXPIRATION_TIME = Option(
    "completed-application-store.expiration-time",
    duration,
    "1 h",
    "Time to keep a finished job",
    fallback=("jobstore.expiration-time",),
)
JOB_STORE_CACHE_SIZE = Option(
    "completed-application-store.cache-size",
    memory,
    "50 mb",
    "Memory for finished jobs; the rest goes to temporary files",
)
JOB_STORE_TYPE = Option(
    "completed-application-store.type",
    choice("File", "Memory"),
    "File",
    "`Memory` keeps finished jobs in memory only",
)
FLAMEGRAPH_ENABLED = Option(
    "rest.flamegraph.enabled", boolean, "false", "Sample the stacks of subtasks when somebody asks for a flame graph"
)
FLAMEGRAPH_SAMPLES = Option("rest.flamegraph.num-samples", integer_from(1), "100", "Samples of a flame graph")
FLAMEGRAPH_DELAY = Option("rest.flamegraph.delay-between-samples", duration, "50 ms", "Time between two samples")
FLAMEGRAPH_DEPTH = Option("rest.flamegraph.stack-depth", integer_from(1), "100", "Calls of a stack, the innermost ones")
FLAMEGRAPH_REFRESH = Option(
    "rest.flamegraph.refresh-interval", duration, "1 min", "Age at which a flame graph is sampled anew when asked for"
)
FLAMEGRAPH_CLEANUP = Option(
    "rest.flamegraph.cleanup-interval",
    duration,
    "10 min",
    "Time after which an unused flame graph is dropped",
)
