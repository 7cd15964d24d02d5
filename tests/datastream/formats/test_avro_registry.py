"""Confluent's wire format, with a registry that answers as Confluent's does."""

from __future__ import annotations

import json
import pickle

import pytest

from firesteel.common import Row

pytest.importorskip("fastavro", reason="the extra firesteel[avro] is not installed")

from firesteel.connectors.formats.avro.registry import (
    ConfluentRegistryAvroDeserializationSchema,
    ConfluentRegistryAvroSerializationSchema,
    SchemaRegistry,
)
from firesteel.datastream.formats.avro import AvroSchema
from tests.kafka import schema_registry


def schema(*fields):
    return AvroSchema(json.dumps({"type": "record", "name": "A", "fields": list(fields)}))


OLD = schema({"name": "n", "type": "long"})
NEW = schema({"name": "n", "type": "long"}, {"name": "s", "type": "string", "default": "x"})


@pytest.fixture
def registry():
    with schema_registry.running() as server:
        yield server


def test_a_message_has_the_id_of_its_schema_before_the_record(registry):
    write = ConfluentRegistryAvroSerializationSchema.for_generic("orders/value", OLD, registry.url)
    assert [write.serialize(Row(1)), write.serialize(Row(2))] == [b"\0\0\0\0\1\2", b"\0\0\0\0\1\4"]
    assert registry.asked == ["/subjects/orders%2Fvalue/versions"]


def test_a_message_is_read_as_another_schema(registry):
    write = ConfluentRegistryAvroSerializationSchema.for_generic("orders", OLD, registry.url)
    read = ConfluentRegistryAvroDeserializationSchema.for_generic(NEW, registry.url)
    write, read = pickle.loads(pickle.dumps((write, read)))
    assert read.deserialize_all([write.serialize(Row(1)), write.serialize(Row(2))]) == [
        Row(n=1, s="x"),
        Row(n=2, s="x"),
    ]
    assert registry.asked == ["/subjects/orders/versions", "/schemas/ids/1"]


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (b"\1\0\0\0\1\2", "not in Confluent's wire format"),
        (b"\0\0\0\0\7\2", "/schemas/ids/7: 404 .*Schema not found"),
        (b"\0", "expected at least 5 bytes, found 1"),
    ],
)
def test_a_bad_message_says_what_is_wrong(registry, message, says):
    read = ConfluentRegistryAvroDeserializationSchema.for_generic(NEW, registry.url)
    with pytest.raises(ValueError, match=says):
        read.deserialize(message)


def test_an_unreachable_registry_does_not_count_as_an_invalid_message():
    read = ConfluentRegistryAvroDeserializationSchema.for_generic(NEW, "http://127.0.0.1:9")
    with pytest.raises(OSError, match="refused"):
        read.deserialize(b"\0\0\0\0\1\2")


USER_INFO = {"basic.auth.credentials.source": "USER_INFO", "basic.auth.user.info": "ann:s3cret"}
TOKEN = {"bearer.auth.credentials.source": "STATIC_TOKEN", "bearer.auth.token": "t0ken"}


@pytest.mark.parametrize(
    ("user", "configs", "header"),
    [
        ("", USER_INFO, "Basic YW5uOnMzY3JldA=="),
        ("ann:s3cret@", {}, "Basic YW5uOnMzY3JldA=="),
        ("ann:s3cret@", {"basic.auth.credentials.source": "URL"}, "Basic YW5uOnMzY3JldA=="),
        ("", TOKEN, "Bearer t0ken"),
    ],
)
def test_credentials_are_sent_with_each_request(registry, user, configs, header):
    registry.authorization = header
    url = registry.url.replace("//", f"//{user}", 1)
    write = ConfluentRegistryAvroSerializationSchema.for_generic("orders", OLD, url, configs)
    read = ConfluentRegistryAvroDeserializationSchema.for_generic(OLD, url, configs)
    write, read = pickle.loads(pickle.dumps((write, read)))
    assert read.deserialize(write.serialize(Row(1))) == Row(n=1)
    with pytest.raises(ValueError, match=r"401.*Unauthorized") as refused:
        ConfluentRegistryAvroSerializationSchema.for_generic("orders", OLD, registry.url).serialize(Row(1))
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("configs", "says"),
    [
        ({"basic.auth.credentials.source": "SASL_INHERIT"}, "'SASL_INHERIT' is not supported; supported are URL, USER"),
        ({"basic.auth.credentials.source": "USER_INFO"}, "basic.auth.user.info is missing"),
        ({"bearer.auth.credentials.source": "STATIC_TOKEN"}, "bearer.auth.token is missing"),
        ({"basic.auth.user": "ann"}, "basic.auth.user is not supported; supported are basic.auth.credentials.source"),
    ],
)
def test_credentials_that_are_not_supported_are_refused(configs, says):
    with pytest.raises(ValueError, match=says):
        SchemaRegistry("http://registry:8081", configs)
