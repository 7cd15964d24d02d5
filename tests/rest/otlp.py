"""A receiver of OpenTelemetry's protocol, by gRPC and by HTTP, made of the official message definitions."""

from __future__ import annotations

import gzip
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import grpc
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2, logs_service_pb2_grpc
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc


def plain(attributes: Any) -> dict[str, Any]:
    """Attributes as a dict."""
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in attributes}


class Receiver:
    """Keeps what it gets: `metrics` by name, `spans` and `logs` in order, each with the attributes of its sender."""

    def __init__(self) -> None:
        self.metrics: dict[str, Any] = {}
        self.spans: list[Any] = []
        self.scopes: list[str] = []
        self.logs: list[Any] = []
        self.resource: dict[str, Any] = {}
        self.encodings: set[str | None] = set()
        self._grpc = grpc.server(ThreadPoolExecutor(2))
        trace_service_pb2_grpc.add_TraceServiceServicer_to_server(_Service(self._traces), self._grpc)
        metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server(_Service(self._metrics), self._grpc)
        logs_service_pb2_grpc.add_LogsServiceServicer_to_server(_Service(self._logs), self._grpc)
        self.grpc = f"http://127.0.0.1:{self._grpc.add_insecure_port('127.0.0.1:0')}"
        self._grpc.start()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.http = f"http://127.0.0.1:{self._http.server_port}"
        Thread(target=self._http.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._grpc.stop(None)
        self._http.shutdown()
        self._http.server_close()

    def _traces(self, request: Any) -> Any:
        for of_resource in request.resource_spans:
            self.resource |= plain(of_resource.resource.attributes)
            for of_scope in of_resource.scope_spans:
                self.scopes += [of_scope.scope.name] * len(of_scope.spans)
                self.spans += of_scope.spans
        return trace_service_pb2.ExportTraceServiceResponse()

    def _metrics(self, request: Any) -> Any:
        for of_resource in request.resource_metrics:
            self.resource |= plain(of_resource.resource.attributes)
            for of_scope in of_resource.scope_metrics:
                self.metrics |= {metric.name: metric for metric in of_scope.metrics}
        return metrics_service_pb2.ExportMetricsServiceResponse()

    def _logs(self, request: Any) -> Any:
        for of_resource in request.resource_logs:
            for of_scope in of_resource.scope_logs:
                self.logs += of_scope.log_records
        return logs_service_pb2.ExportLogsServiceResponse()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self
        requests = {
            "/v1/traces": (trace_service_pb2.ExportTraceServiceRequest, self._traces),
            "/v1/metrics": (metrics_service_pb2.ExportMetricsServiceRequest, self._metrics),
            "/v1/logs": (logs_service_pb2.ExportLogsServiceRequest, self._logs),
        }

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                kind, take = requests[self.path]
                body = self.rfile.read(int(self.headers["Content-Length"]))
                encoding = self.headers.get("Content-Encoding")
                receiver.encodings.add(encoding)
                answer = take(kind.FromString(gzip.decompress(body) if encoding == "gzip" else body))
                self.send_response(200)
                self.send_header("Content-Type", "application/x-protobuf")
                self.end_headers()
                self.wfile.write(answer.SerializeToString())

            def log_message(self, *_: object) -> None:
                pass

        return Handler


class _Service:
    def __init__(self, take: Any) -> None:
        self._take = take

    def Export(self, request: Any, context: object) -> Any:
        return self._take(request)
