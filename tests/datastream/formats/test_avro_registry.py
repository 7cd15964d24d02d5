"""Confluent's wire format, with a registry that answers as Confluent's does."""

from __future__ import annotations

import json
import pickle
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from firesteel.common import Row

pytest.importorskip("fastavro", reason="the extra firesteel[avro] is not installed")

from firesteel.datastream.formats.avro import AvroSchema
from firesteel.datastream.formats.avro_registry import (
    ConfluentRegistryAvroDeserializationSchema,
    ConfluentRegistryAvroSerializationSchema,
)


def schema(*fields):
    return AvroSchema(json.dumps({"type": "record", "name": "A", "fields": list(fields)}))


OLD = schema({"name": "n", "type": "long"})
NEW = schema({"name": "n", "type": "long"}, {"name": "s", "type": "string", "default": "x"})


class Registry(BaseHTTPRequestHandler):
    def do_POST(self):
        text = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["schema"]
        self.server.asked.append(self.path)
        self.server.schemas.append(text)
        self.answer(200, {"id": len(self.server.schemas) - 1})

    def do_GET(self):
        self.server.asked.append(self.path)
        number = int(self.path.rpartition("/")[2])
        if number < len(self.server.schemas):
            self.answer(200, {"schema": self.server.schemas[number]})
        else:
            self.answer(404, {"error_code": 40403, "message": "Schema not found"})

    def answer(self, status, data):
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def registry():
    with ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        server.schemas, server.asked = ["first"], []
        server.url = f"http://127.0.0.1:{server.server_port}/"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


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
        (b"\0", "Failed to deserialize Avro"),
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
