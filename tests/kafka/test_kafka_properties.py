"""Properties of Java's Kafka clients, as librdkafka understands them."""

from __future__ import annotations

import pytest

from firesteel.connectors.kafka import properties as table
from firesteel.connectors.kafka.properties import admin_settings, consumer_settings, producer_settings, warn_of_unknown
from firesteel.errors import InvalidProgramError

pytestmark = pytest.mark.slow

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


@pytest.mark.parametrize(
    ("properties", "settings"),
    [
        ({"bootstrap.servers": "a:1,b:2"}, {"bootstrap.servers": "a:1,b:2"}),
        ({"isolation.level": "read_committed"}, {"isolation.level": "read_committed"}),
        ({"fetch.max.wait.ms": "20"}, {"fetch.wait.max.ms": "20"}),
        ({"receive.buffer.bytes": "9"}, {"socket.receive.buffer.bytes": "9"}),
        ({"request.timeout.ms": "1500"}, {"socket.timeout.ms": "1500"}),
        ({"sasl.mechanism": "PLAIN"}, {"sasl.mechanisms": "PLAIN"}),
        (
            {"sasl.jaas.config": f'{PLAIN} required username="ann" password="a\\"b; c";'},
            {"sasl.username": "ann", "sasl.password": 'a"b; c'},
        ),
        (
            {"sasl.jaas.config": f"{SCRAM} required username=ann\n password='x';"},
            {"sasl.username": "ann", "sasl.password": "x"},
        ),
        (
            {"sasl.jaas.config": f'{OAUTH} required clientId="i" clientSecret="s" scope="all";'},
            {
                "sasl.oauthbearer.method": "oidc",
                "sasl.oauthbearer.client.id": "i",
                "sasl.oauthbearer.client.secret": "s",
                "sasl.oauthbearer.scope": "all",
            },
        ),
        (
            {"sasl.jaas.config": f'{OAUTH} required unsecuredLoginStringClaim_sub="ann";'},
            {"enable.sasl.oauthbearer.unsecure.jwt": "true", "sasl.oauthbearer.config": "principal=ann"},
        ),
        (
            {"ssl.truststore.location": "/a/ca.pem", "ssl.truststore.password": "secret"},
            {"ssl.ca.location": "/a/ca.pem"},
        ),
        ({"ssl.truststore.location": "/a/ca", "ssl.truststore.type": "PEM"}, {"ssl.ca.location": "/a/ca"}),
        (
            {"ssl.keystore.location": "/a/me.pem"},
            {"ssl.certificate.location": "/a/me.pem", "ssl.key.location": "/a/me.pem"},
        ),
        (
            {"ssl.keystore.location": "/a/me.p12", "ssl.keystore.password": "x"},
            {"ssl.keystore.location": "/a/me.p12", "ssl.keystore.password": "x"},
        ),
        ({"ssl.endpoint.identification.algorithm": ""}, {"ssl.endpoint.identification.algorithm": "none"}),
        ({"key.deserializer": "a.b.C", "auto.offset.reset": "earliest", "nobody.knows": "x"}, {}),
    ],
)
def test_consumer_gets_the_settings_of_librdkafka(properties, settings):
    assert consumer_settings(properties) == {"isolation.level": "read_uncommitted"} | settings


def test_producer_partitions_by_key_as_java_does_and_takes_its_own_properties_only():
    properties = {
        "buffer.memory": "4096",
        "acks": "all",
        "max.request.size": "7",
        "group.id": "g",
        "request.timeout.ms": "5",
    }
    assert producer_settings(properties) == {
        "partitioner": "murmur2_random",
        "queue.buffering.max.kbytes": "4",
        "acks": "all",
        "message.max.bytes": "7",
        "request.timeout.ms": "5",
    }


def test_admin_client_gets_neither_group_nor_acks():
    properties = {"group.id": "g", "acks": "all", "bootstrap.servers": "a:1", "request.timeout.ms": "5"}
    assert admin_settings(properties) == {"bootstrap.servers": "a:1", "socket.timeout.ms": "5"}


@pytest.mark.parametrize("store", ["truststore", "keystore"])
def test_java_key_stores_are_refused_with_the_command_that_converts_them(store):
    with pytest.raises(
        InvalidProgramError, match=rf"ssl\.{store}\.location: '/a/x\.jks' is a JKS .*keytool .* /a/x\.jks"
    ):
        consumer_settings({f"ssl.{store}.location": "/a/x.jks"})


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ({"sasl.jaas.config": "com.acme.Login required a=b;"}, "found module 'Login'"),
        ({"sasl.jaas.config": f"{PLAIN} required user=b;"}, "needs username and password"),
        ({"sasl.login.callback.handler.class": "software.amazon.msk.IAMClientCallbackHandler"}, "cannot be run"),
    ],
)
def test_logins_that_need_java_are_refused(properties, text):
    with pytest.raises(InvalidProgramError, match=text):
        consumer_settings(properties)


def test_unknown_properties_are_named_in_a_warning(caplog):
    properties = {"bootstrap.servers": "a:1", "flnik.typo": "1", "key.deserializer": "x", "max.poll.records": "3"}
    assert warn_of_unknown(properties, "KafkaSource") == ["flnik.typo"]
    assert "KafkaSource: these properties are unknown and have no effect: flnik.typo" in caplog.text


def test_every_setting_is_one_of_librdkafka():
    kafka = pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")
    settings = {*table._BOTH.values(), *table._CONSUMER.values(), *table._PRODUCER.values()}
    # Names are checked before values; Kerberos needs another build of librdkafka.
    problems = [_problem(kafka, name) for name in sorted(settings) if not name.startswith("sasl.kerberos")]
    assert not [problem for problem in problems if "No such configuration property" in problem]


def _problem(kafka, name):
    try:
        kafka.Producer({name: ""})
    except kafka.KafkaException as error:
        return str(error)
    return ""
