"""Translation of properties of Kafka's Java clients to settings of librdkafka, which `confluent-kafka` uses.

A property is translated by a table, rejected if librdkafka does not support it, or ignored if it has no meaning outside
a JVM. librdkafka's own names are accepted, too.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping

from firesteel.errors import InvalidProgramError

logger = logging.getLogger(__name__)

Properties = Mapping[str, str]


def _same(names: str) -> dict[str, str]:
    """Return a table of names that are the same in librdkafka."""
    return {name: name for name in names.split()}


_BOTH = _same(
    """
    bootstrap.servers client.id client.rack security.protocol client.dns.lookup metadata.max.age.ms
    connections.max.idle.ms reconnect.backoff.ms reconnect.backoff.max.ms retry.backoff.ms retry.backoff.max.ms
    ssl.key.password ssl.cipher.suites sasl.username sasl.password sasl.mechanisms sasl.kerberos.service.name
    sasl.kerberos.kinit.cmd sasl.oauthbearer.token.endpoint.url sasl.oauthbearer.method sasl.oauthbearer.client.id
    sasl.oauthbearer.client.secret sasl.oauthbearer.scope sasl.oauthbearer.extensions sasl.oauthbearer.config
    enable.sasl.oauthbearer.unsecure.jwt ssl.ca.location ssl.ca.pem ssl.certificate.location ssl.certificate.pem
    ssl.key.location ssl.key.pem enable.ssl.certificate.verification socket.timeout.ms socket.keepalive.enable
    broker.address.family broker.address.ttl debug log_level topic.metadata.refresh.interval.ms
    statistics.interval.ms
    """
) | {
    "sasl.mechanism": "sasl.mechanisms",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "socket.connection.setup.timeout.ms": "socket.connection.setup.timeout.ms",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.password": "ssl.keystore.password",
}

_CONSUMER = _same(
    """
    group.id group.instance.id isolation.level fetch.min.bytes fetch.max.bytes max.partition.fetch.bytes
    check.crcs session.timeout.ms heartbeat.interval.ms max.poll.interval.ms queued.min.messages
    queued.max.messages.kbytes fetch.error.backoff.ms fetch.wait.max.ms fetch.message.max.bytes
    """
) | {"fetch.max.wait.ms": "fetch.wait.max.ms", "request.timeout.ms": "socket.timeout.ms"}

_PRODUCER = _same(
    """
    acks linger.ms batch.size batch.num.messages compression.type compression.codec compression.level retries
    max.in.flight.requests.per.connection delivery.timeout.ms request.timeout.ms transaction.timeout.ms
    enable.idempotence queue.buffering.max.messages queue.buffering.max.kbytes queue.buffering.max.ms
    message.max.bytes message.timeout.ms sticky.partitioning.linger.ms partitioner
    """
) | {"max.request.size": "message.max.bytes"}

_READ_BY_FIRESTEEL = frozenset(
    _same(
        """
    auto.offset.reset enable.auto.commit auto.commit.interval.ms max.poll.records partition.discovery.interval.ms
    commit.offsets.on.checkpoint client.id.prefix register.consumer.metrics transactional.id
    default.api.timeout.ms max.block.ms
    """
    )
)
"""Properties used by the source, the sink or this module; they are not settings of the client."""

_OF_THE_JVM = frozenset(
    _same(
        """
    key.deserializer value.deserializer key.serializer value.serializer partition.assignment.strategy ssl.protocol
    ssl.enabled.protocols ssl.provider ssl.keymanager.algorithm ssl.trustmanager.algorithm
    ssl.secure.random.implementation allow.auto.create.topics exclude.internal.topics metrics.recording.level
    metrics.num.samples metrics.sample.window.ms metric.reporters auto.include.jmx.reporter interceptor.classes
    """
    )
)
"""Properties without a meaning outside a JVM, such as class names and metrics."""

_LOGIN = re.compile(r"\s*(\S+)\s+(?:required|requisite|sufficient|optional)\b(.*?);?\s*$", re.DOTALL)
_LOGIN_OPTION = re.compile(r"(\w+)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|([^\s;]+))")


def consumer_settings(properties: Properties) -> dict[str, str]:
    """Return the settings of a librdkafka consumer for the properties of a Java consumer.

    Raises:
        InvalidProgramError: librdkafka does not support a property.

    Example:
        >>> consumer_settings({"bootstrap.servers": "broker:9092", "fetch.max.wait.ms": "20"})["fetch.wait.max.ms"]
        '20'
    """
    # The default of Java clients differs from librdkafka's, which is read_committed.
    return {"isolation.level": "read_uncommitted"} | _settings(properties, _CONSUMER)


def producer_settings(properties: Properties) -> dict[str, str]:
    """Return the settings of a librdkafka producer for the properties of a Java producer.

    Raises:
        InvalidProgramError: librdkafka does not support a property.
    """
    # Java's default. With that of librdkafka (CRC32) a key would go to another partition than from Java producers.
    settings = {"partitioner": "murmur2_random"} | _settings(properties, _PRODUCER)
    if "buffer.memory" in properties:
        settings["queue.buffering.max.kbytes"] = str(max(1, int(properties["buffer.memory"]) // 1024))
    return settings


def admin_settings(properties: Properties) -> dict[str, str]:
    """Return the settings of a librdkafka client that neither reads nor writes records.

    Raises:
        InvalidProgramError: librdkafka does not support a property.
    """
    return _settings(properties, {"request.timeout.ms": "socket.timeout.ms"})


def warn_of_unknown(properties: Properties, what: str) -> list[str]:
    """Log a warning with the unknown properties, which have no effect, and return them."""
    known = _BOTH.keys() | _CONSUMER.keys() | _PRODUCER.keys() | _DERIVED.keys() | _READ_BY_FIRESTEEL | _OF_THE_JVM
    unknown = sorted(properties.keys() - known - {"buffer.memory"})
    if unknown:
        logger.warning("%s: these properties are unknown and have no effect: %s", what, ", ".join(unknown))
    return unknown


def timeout_s(properties: Properties) -> float:
    """Return the timeout of a request in seconds: `request.timeout.ms`, by default 30 s as in Java clients."""
    return int(properties.get("request.timeout.ms", "30000")) / 1000


def _settings(properties: Properties, of_role: Mapping[str, str]) -> dict[str, str]:
    names = {**_BOTH, **of_role}
    settings = {names[name]: value for name, value in properties.items() if name in names}
    for name, derive in _DERIVED.items():
        if name in properties:
            settings |= derive(properties[name], properties)
    return settings


# --- properties whose value changes, too ------------------------------------------------------------------------------


def _login(value: str, properties: Properties) -> dict[str, str]:
    """Return the settings for the credentials in a JAAS configuration."""
    found = _LOGIN.match(value)
    module = found.group(1).rpartition(".")[2] if found else ""
    if found is None or module not in _LOGIN_MODULES:
        raise InvalidProgramError(
            f"sasl.jaas.config: expected '<module> required <options>;' with one of {', '.join(_LOGIN_MODULES)}, "
            f"found module {module or 'none'!r}"
        )
    options = {name: re.sub(r"\\(.)", r"\1", a) or b or c for name, a, b, c in _LOGIN_OPTION.findall(found.group(2))}
    return _LOGIN_MODULES[module](options)


def _password_login(options: Properties) -> dict[str, str]:
    if not {"username", "password"} <= options.keys():
        raise InvalidProgramError(f"sasl.jaas.config needs username and password, found {sorted(options)}")
    return {"sasl.username": options["username"], "sasl.password": options["password"]}


def _oauth_login(options: Properties) -> dict[str, str]:
    if "unsecuredLoginStringClaim_sub" in options:
        principal = f"principal={options['unsecuredLoginStringClaim_sub']}"
        return {"enable.sasl.oauthbearer.unsecure.jwt": "true", "sasl.oauthbearer.config": principal}
    names = {"clientId": "client.id", "clientSecret": "client.secret", "scope": "scope"}
    settings = {f"sasl.oauthbearer.{names[name]}": value for name, value in options.items() if name in names}
    return {"sasl.oauthbearer.method": "oidc"} | settings


def _kerberos_login(options: Properties) -> dict[str, str]:
    names = {"keyTab": "keytab", "principal": "principal", "serviceName": "service.name"}
    return {f"sasl.kerberos.{names[name]}": value for name, value in options.items() if name in names}


_LOGIN_MODULES: dict[str, Callable[[Properties], dict[str, str]]] = {
    "PlainLoginModule": _password_login,
    "ScramLoginModule": _password_login,
    "OAuthBearerLoginModule": _oauth_login,
    "Krb5LoginModule": _kerberos_login,
}


def _trust_store(value: str, properties: Properties) -> dict[str, str]:
    _refuse_jks("ssl.truststore", value, properties, "PEM", _TRUST_STORE_HINT)
    return {"ssl.ca.location": value}


def _key_store(value: str, properties: Properties) -> dict[str, str]:
    kind = _refuse_jks("ssl.keystore", value, properties, "PEM or PKCS12", _KEY_STORE_HINT)
    if kind == "PKCS12":
        return {"ssl.keystore.location": value}
    return {"ssl.certificate.location": value, "ssl.key.location": value}


_TRUST_STORE_HINT = "keytool -exportcert -rfc -keystore {path} -alias <alias> -file truststore.pem"
_KEY_STORE_HINT = "keytool -importkeystore -srckeystore {path} -destkeystore keystore.p12 -deststoretype PKCS12"
_KINDS_BY_ENDING = {".pem": "PEM", ".crt": "PEM", ".cer": "PEM", ".p12": "PKCS12", ".pfx": "PKCS12"}


def _refuse_jks(store: str, path: str, properties: Properties, allowed: str, hint: str) -> str:
    """Return the type of a store, by its property or file name, and raise an error if it is not allowed.

    Without either, the type is JKS, which is Java's own.
    """
    by_name = next((kind for ending, kind in _KINDS_BY_ENDING.items() if path.lower().endswith(ending)), "JKS")
    kind = properties.get(f"{store}.type", by_name).upper()
    if kind not in allowed.split(" or "):
        raise InvalidProgramError(
            f"{store}.location: {path!r} is a {kind} file, which only Java reads; convert it to {allowed} with "
            f"'{hint.format(path=path)}' and set {store}.type={allowed.split()[-1]}"
        )
    return kind


def _host_name_check(value: str, properties: Properties) -> dict[str, str]:
    return {"ssl.endpoint.identification.algorithm": value or "none"}


_DERIVED: dict[str, Callable[[str, Properties], dict[str, str]]] = {
    "sasl.jaas.config": _login,
    "sasl.login.callback.handler.class": lambda value, properties: _callback_handler(value),
    "ssl.truststore.location": _trust_store,
    "ssl.truststore.type": lambda value, properties: {},
    "ssl.truststore.password": lambda value, properties: {},
    "ssl.keystore.location": _key_store,
    "ssl.keystore.type": lambda value, properties: {},
    "ssl.endpoint.identification.algorithm": _host_name_check,
}


def _callback_handler(value: str) -> dict[str, str]:
    """Accept Kafka's own OAuth handler, which librdkafka has built in, and reject all others."""
    name = value.rpartition(".")[2]
    if name != "OAuthBearerLoginCallbackHandler":
        raise InvalidProgramError(
            f"sasl.login.callback.handler.class: the Java class {value!r} cannot be run; "
            "only Kafka's OAuthBearerLoginCallbackHandler has an equivalent"
        )
    return {}
