"""Options of security: tokens, secrets, TLS, Kerberos."""

from __future__ import annotations

from firesteel.common.options.kinds import boolean, integer_from, memory, path, string, strings
from firesteel.common.options.option import Option

REST_TOKEN_VIEW = Option(
    "security.rest.token.view",
    string,
    None,
    "Bearer token, at least 16 bytes, that allows reading",
)
REST_TOKEN_SUBMIT = Option("security.rest.token.submit", string, None, "Bearer token that also allows submitting jobs")
REST_TOKEN_ADMIN = Option("security.rest.token.admin", string, None, "Bearer token that allows everything")
REST_SUBMIT_WITHOUT_TOKEN = Option(
    "security.rest.submit-without-token",
    boolean,
    "false",
    "Accept jobs from anyone who reaches the REST API",
)
REST_ALLOWED_HOSTS = Option(
    "security.rest.allowed-hosts",
    strings,
    None,
    "Names of the server besides `localhost`, the machine's and `rest.address`",
)
RPC_SECRET_FILE = Option(
    "security.rpc.secret-file",
    path,
    None,
    "File (mode 600) with the secret of the cluster, instead of `FIRESTEEL_RPC_SECRET`",
)
RPC_ACCEPTED_SECRET_FILE = Option(
    "security.rpc.accepted-secret-file",
    path,
    None,
    "File (mode 600) with another secret that is accepted too, while the secret is being replaced; it may be missing",
)
REST_TOKEN_FILE_VIEW = Option(
    "security.rest.token-file.view",
    path,
    None,
    "File (mode 600) with bearer tokens that allow reading, one a line; it is read again after changes",
)
REST_TOKEN_FILE_SUBMIT = Option(
    "security.rest.token-file.submit", path, None, "File with bearer tokens that also allow submitting jobs"
)
REST_TOKEN_FILE_ADMIN = Option(
    "security.rest.token-file.admin", path, None, "File with bearer tokens that allow everything"
)
REST_TOKEN_LIMIT_JOBS = Option(
    "security.rest.token-limit.jobs",
    integer_from(1),
    None,
    "Running jobs that were submitted with the same token",
    shown="unlimited",
)
REST_TOKEN_LIMIT_CONNECTIONS = Option(
    "security.rest.token-limit.connections",
    integer_from(1),
    None,
    "Connections with the same token that are served at the same time",
    shown="unlimited",
)
REST_TOKEN_LIMIT_RESULTS = Option(
    "security.rest.token-limit.result-bytes",
    memory,
    None,
    "Results that are sent to the same token within a minute",
    shown="unlimited",
)
SSL_PROTOCOL = Option("security.ssl.protocol", string, "TLSv1.2,TLSv1.3", "Versions of TLS that are accepted")
SSL_ALGORITHMS = Option(
    "security.ssl.algorithms",
    string,
    None,
    "Cipher suites that are accepted, by Java's names, separated by commas",
    shown="those of Python",
)
SSL_REST_ENABLED = Option(
    "security.ssl.rest.enabled",
    boolean,
    "false",
    "Serve REST API and dashboard over TLS",
    fallback=("security.ssl.enabled",),
)
SSL_REST_KEYSTORE = Option(
    "security.ssl.rest.keystore",
    path,
    None,
    "PEM file with certificate, chain and key",
    fallback=("security.ssl.keystore",),
)
SSL_REST_KEY_PASSWORD = Option(
    "security.ssl.rest.key-password", string, None, "Password of that key", fallback=("security.ssl.key-password",)
)
SSL_REST_TRUSTSTORE = Option(
    "security.ssl.rest.truststore",
    path,
    None,
    "PEM file with trusted certificates",
    shown="the system's",
    fallback=("security.ssl.truststore",),
)
SSL_REST_AUTHENTICATION_ENABLED = Option(
    "security.ssl.rest.authentication-enabled",
    boolean,
    "false",
    "Require client certificates",
)
SSL_REST_VERIFY_HOSTNAME = Option(
    "security.ssl.rest.verify-hostname",
    boolean,
    "true",
    "Verify that the certificate matches the host",
    fallback=("security.ssl.verify-hostname",),
)
SSL_INTERNAL_ENABLED = Option(
    "security.ssl.internal.enabled",
    boolean,
    "false",
    "Encrypt RPC and records between hosts; both sides authenticate",
    fallback=("security.ssl.enabled",),
)
SSL_INTERNAL_KEYSTORE = Option(
    "security.ssl.internal.keystore",
    path,
    None,
    "PEM file with certificate and key of the cluster",
    fallback=("security.ssl.keystore",),
)
SSL_INTERNAL_KEY_PASSWORD = Option(
    "security.ssl.internal.key-password", string, None, "Password of that key", fallback=("security.ssl.key-password",)
)
SSL_INTERNAL_TRUSTSTORE = Option(
    "security.ssl.internal.truststore",
    path,
    None,
    "PEM file with trusted certificates",
    fallback=("security.ssl.truststore",),
)
KERBEROS_KEYTAB = Option("security.kerberos.login.keytab", path, None, "Becomes `spark.kerberos.keytab`")
KERBEROS_PRINCIPAL = Option("security.kerberos.login.principal", string, None, "Becomes `spark.kerberos.principal`")
KERBEROS_FILE_SYSTEMS = Option(
    "security.kerberos.access.hadoopFileSystems", strings, None, "Becomes `spark.kerberos.access.hadoopFileSystems`"
)
