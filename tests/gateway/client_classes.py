"""Stand-ins for the classes of `flink-sql-gateway.jar` that Flink's SQL client needs to talk to a remote gateway.

PyFlink's distribution contains the SQL client without this jar, so that the client does not start. Each stand-in knows
one request: method, path, and the fields of its JSON. Everything else is Flink's own: the client's commands, views and
messages, its HTTP client, and the classes of rows, types and schemas.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

_GATEWAY = "org.apache.flink.table.gateway"
_REST = f"{_GATEWAY}.rest"
_IMPORTS = """
import java.util.*;
import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.*;
import org.apache.flink.runtime.rest.HttpMethodWrapper;
import org.apache.flink.runtime.rest.messages.*;
import org.apache.flink.runtime.rest.versioning.RestAPIVersion;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.annotation.*;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.netty4.io.netty.handler.codec.http.HttpResponseStatus;
import org.apache.flink.table.api.*;
import org.apache.flink.table.catalog.*;
import org.apache.flink.table.data.*;
import org.apache.flink.table.gateway.api.operation.OperationHandle;
import org.apache.flink.table.gateway.api.results.ResultSet;
import org.apache.flink.table.gateway.api.session.SessionHandle;
import org.apache.flink.table.types.logical.*;
import org.apache.flink.types.RowKind;
"""

_HEADERS = f"""
public abstract class GatewayHeaders<R extends RequestBody, P extends ResponseBody, M extends MessageParameters>
        implements MessageHeaders<R, P, M> {{
    private final HttpMethodWrapper method;
    private final String path;
    private final Class<R> request;
    private final Class<P> response;

    protected GatewayHeaders(HttpMethodWrapper method, String path, Class<R> request, Class<P> response) {{
        this.method = method;
        this.path = path;
        this.request = request;
        this.response = response;
    }}

    public Class<P> getResponseClass() {{ return response; }}
    public HttpResponseStatus getResponseStatusCode() {{ return HttpResponseStatus.OK; }}
    public String getDescription() {{ return path; }}
    public Class<R> getRequestClass() {{ return request; }}
    public HttpMethodWrapper getHttpMethod() {{ return method; }}
    public String getTargetRestEndpointURL() {{ return path; }}
    @SuppressWarnings("unchecked")
    public M getUnresolvedMessageParameters() {{ return (M) EmptyMessageParameters.getInstance(); }}
    public Collection<{_REST}.util.SqlGatewayRestAPIVersion> getSupportedAPIVersions() {{
        return {_REST}.util.SqlGatewayRestAPIVersion.getStableVersions();
    }}
}}
"""

_PARAMETERS = """
public class UrlParameters extends MessageParameters {
    private final List<MessagePathParameter<?>> path = new ArrayList<>();
    private final List<MessageQueryParameter<?>> query = new ArrayList<>();

    protected void path(String key, String value) {
        MessagePathParameter<String> added = new MessagePathParameter<String>(key) {
            protected String convertFromString(String text) { return text; }
            protected String convertToString(String text) { return text; }
            public String getDescription() { return key; }
        };
        added.resolve(value);
        path.add(added);
    }

    protected void query(String key, String value) {
        MessageQueryParameter<String> added = new Query(key);
        added.resolve(Collections.singletonList(value));
        query.add(added);
    }

    private static final class Query extends MessageQueryParameter<String> {
        Query(String key) { super(key, MessageParameterRequisiteness.OPTIONAL); }
        public String convertStringToValue(String text) { return text; }
        public String convertValueToString(String text) { return text; }
        public String getDescription() { return getKey(); }
    }

    public Collection<MessagePathParameter<?>> getPathParameters() { return path; }
    public Collection<MessageQueryParameter<?>> getQueryParameters() { return query; }
}
"""

_VERSION = """
public enum SqlGatewayRestAPIVersion
        implements RestAPIVersion<SqlGatewayRestAPIVersion>,
                org.apache.flink.table.gateway.api.endpoint.EndpointVersion {
    V1, V2, V3, V4;

    public String getURLVersionPrefix() { return name().toLowerCase(); }
    public boolean isDefaultVersion() { return this == V4; }
    public boolean isStableVersion() { return true; }
    public static List<SqlGatewayRestAPIVersion> getStableVersions() { return Arrays.asList(values()); }
    public static SqlGatewayRestAPIVersion getDefaultVersion() { return V4; }
}
"""

_CONTEXT = """
public class DefaultContext {
    private final Configuration configuration;

    private DefaultContext(Configuration configuration) { this.configuration = configuration; }

    public static DefaultContext load(
            Configuration dynamic, List<java.net.URL> dependencies, boolean discoversExecutionConfig) {
        Configuration configuration = GlobalConfiguration.loadConfiguration();
        configuration.addAll(dynamic);
        return new DefaultContext(configuration);
    }

    public Configuration getFlinkConfig() { return configuration; }
    public List<java.net.URL> getDependencies() { return Collections.emptyList(); }
}
"""

_RESULT_INFO = """
public class ResultInfo {
    private final List<Column> columns = new ArrayList<>();
    private final List<RowData> rows = new ArrayList<>();

    @JsonCreator
    public ResultInfo(
            @JsonProperty("columns") JsonNode columns,
            @JsonProperty("rowFormat") String rowFormat,
            @JsonProperty("data") JsonNode data) {
        if (!rowFormat.equals("PLAIN_TEXT")) {
            throw new IllegalArgumentException(rowFormat);
        }
        for (JsonNode column : columns) {
            LogicalType type = type(column.required("logicalType"));
            columns().add(Column.physical(
                    column.required("name").asText(),
                    org.apache.flink.table.types.utils.TypeConversions.fromLogicalToDataType(type)));
        }
        for (JsonNode row : data) {
            GenericRowData read = new GenericRowData(RowKind.valueOf(row.required("kind").asText()), columns.size());
            int position = 0;
            for (JsonNode field : row.required("fields")) {
                read.setField(position++, field.isNull() ? null : StringData.fromString(field.textValue()));
            }
            rows.add(read);
        }
    }

    private List<Column> columns() { return columns; }
    public List<RowData> getData() { return rows; }
    public ResolvedSchema getResultSchema() { return ResolvedSchema.of(columns); }

    private static LogicalType type(JsonNode node) {
        return root(node, LogicalTypeRoot.valueOf(node.required("type").asText()))
                .copy(node.required("nullable").booleanValue());
    }

    private static int number(JsonNode node, String name) { return node.required(name).intValue(); }

    private static LogicalType root(JsonNode node, LogicalTypeRoot root) {
        switch (root) {
            case CHAR: return new CharType(number(node, "length"));
            case VARCHAR: return new VarCharType(number(node, "length"));
            case BINARY: return new BinaryType(number(node, "length"));
            case VARBINARY: return new VarBinaryType(number(node, "length"));
            case BOOLEAN: return new BooleanType();
            case DECIMAL: return new DecimalType(number(node, "precision"), number(node, "scale"));
            case TINYINT: return new TinyIntType();
            case SMALLINT: return new SmallIntType();
            case INTEGER: return new IntType();
            case BIGINT: return new BigIntType();
            case FLOAT: return new FloatType();
            case DOUBLE: return new DoubleType();
            case DATE: return new DateType();
            case NULL: return new NullType();
            case TIME_WITHOUT_TIME_ZONE: return new TimeType(number(node, "precision"));
            case TIMESTAMP_WITHOUT_TIME_ZONE: return new TimestampType(number(node, "precision"));
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE: return new LocalZonedTimestampType(number(node, "precision"));
            case INTERVAL_YEAR_MONTH:
                return new YearMonthIntervalType(
                        YearMonthIntervalType.YearMonthResolution.valueOf(node.required("resolution").asText()),
                        number(node, "precision"));
            case INTERVAL_DAY_TIME:
                return new DayTimeIntervalType(
                        DayTimeIntervalType.DayTimeResolution.valueOf(node.required("resolution").asText()),
                        number(node, "precision"),
                        number(node, "fractionalPrecision"));
            case ARRAY: return new ArrayType(type(node.required("elementType")));
            case MULTISET: return new MultisetType(type(node.required("elementType")));
            case MAP: return new MapType(type(node.required("keyType")), type(node.required("valueType")));
            case ROW:
                List<RowType.RowField> fields = new ArrayList<>();
                for (JsonNode field : node.required("fields")) {
                    fields.add(new RowType.RowField(
                            field.required("name").asText(), type(field.required("fieldType"))));
                }
                return new RowType(fields);
            default: throw new IllegalArgumentException(root.name());
        }
    }
}
"""

_FETCHED = f"""
@org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.annotation.JsonDeserialize(as = FetchedResults.class)
public interface FetchResultsResponseBody extends ResponseBody {{
    {_REST}.serde.ResultInfo getResults();
    ResultSet.ResultType getResultType();
    String getNextResultUri();
    boolean isQueryResult();
    JobID getJobID();
    ResultKind getResultKind();
}}
"""

_FETCHED_BODY = f"""
public class FetchedResults implements FetchResultsResponseBody {{
    @JsonProperty("resultType") public ResultSet.ResultType resultType;
    @JsonProperty("isQueryResult") public boolean isQueryResult;
    @JsonProperty("resultKind") public ResultKind resultKind;
    @JsonProperty("jobID") public String jobId;
    @JsonProperty("results") public {_REST}.serde.ResultInfo results;
    @JsonProperty("nextResultUri") public String nextResultUri;

    public {_REST}.serde.ResultInfo getResults() {{ return results; }}
    public ResultSet.ResultType getResultType() {{ return resultType; }}
    public String getNextResultUri() {{ return nextResultUri; }}
    public boolean isQueryResult() {{ return isQueryResult; }}
    public JobID getJobID() {{ return jobId == null ? null : JobID.fromHexString(jobId); }}
    public ResultKind getResultKind() {{ return resultKind; }}
}}
"""

_UTILITIES = {
    f"{_REST}.header.GatewayHeaders": _HEADERS,
    f"{_REST}.message.UrlParameters": _PARAMETERS,
    f"{_REST}.util.SqlGatewayRestAPIVersion": _VERSION,
    f"{_REST}.util.RowFormat": "public enum RowFormat { JSON, PLAIN_TEXT }",
    f"{_REST}.util.SqlGatewayRestEndpointUtils": """
public class SqlGatewayRestEndpointUtils {
    public static Long parseToken(String uri) {
        return uri == null ? null : Long.valueOf(uri.replaceAll("[?].*", "").replaceAll(".*/", ""));
    }
}
""",
    f"{_REST}.util.SqlGatewayRestOptions": """
public class SqlGatewayRestOptions {
    public static final ConfigOption<String> ADDRESS =
            ConfigOptions.key("sql-gateway.endpoint.rest.address").stringType().noDefaultValue();
    public static final ConfigOption<Integer> PORT =
            ConfigOptions.key("sql-gateway.endpoint.rest.port").intType().defaultValue(8083);
}
""",
    f"{_GATEWAY}.service.context.DefaultContext": _CONTEXT,
    f"{_REST}.serde.ResultInfo": _RESULT_INFO,
    f"{_REST}.message.statement.FetchResultsResponseBody": _FETCHED,
    f"{_REST}.message.statement.FetchedResults": _FETCHED_BODY,
    f"{_REST}.message.session.SessionMessageParameters": f"""
public class SessionMessageParameters extends {_REST}.message.UrlParameters {{
    public SessionMessageParameters(SessionHandle session) {{
        path("session_handle", session.getIdentifier().toString());
    }}
}}
""",
    f"{_REST}.message.operation.OperationMessageParameters": f"""
public class OperationMessageParameters extends {_REST}.message.session.SessionMessageParameters {{
    public OperationMessageParameters(SessionHandle session, OperationHandle operation) {{
        super(session);
        path("operation_handle", operation.getIdentifier().toString());
    }}
}}
""",
    f"{_REST}.message.statement.FetchResultsMessageParameters": f"""
public class FetchResultsMessageParameters extends {_REST}.message.operation.OperationMessageParameters {{
    public FetchResultsMessageParameters(
            SessionHandle session, OperationHandle operation, Long token, {_REST}.util.RowFormat format) {{
        super(session, operation);
        path("token", token.toString());
        query("rowFormat", format.name());
    }}
}}
""",
}

_BODIES = {
    "session.OpenSessionRequestBody": ("String sessionName", "Map<String, String> properties"),
    "session.OpenSessionResponseBody": ("String sessionHandle",),
    "session.CloseSessionResponseBody": ("String status",),
    "session.GetSessionConfigResponseBody": ("Map<String, String> properties",),
    "session.ConfigureSessionRequestBody": ("String statement",),
    "statement.ExecuteStatementRequestBody": ("String statement",),
    "statement.ExecuteStatementResponseBody": ("String operationHandle",),
    "statement.CompleteStatementRequestBody": ("String statement", "int position"),
    "statement.CompleteStatementResponseBody": ("List<String> candidates",),
    "operation.OperationStatusResponseBody": ("String status",),
    "util.GetApiVersionResponseBody": ("List<String> versions",),
}
"""Fields of request and response bodies."""

_SESSION = "/sessions/:session_handle"
_OPERATION = f"{_SESSION}/operations/:operation_handle"
_EMPTY = "org.apache.flink.runtime.rest.messages.Empty"
_REQUESTS = {
    "util.GetApiVersion": ("GET", "/api_versions", "", "util.GetApiVersionResponseBody", ""),
    "session.OpenSession": (
        "POST",
        "/sessions",
        "session.OpenSessionRequestBody",
        "session.OpenSessionResponseBody",
        "",
    ),
    "session.CloseSession": ("DELETE", _SESSION, "", "session.CloseSessionResponseBody", "session.Session"),
    "session.GetSessionConfig": ("GET", _SESSION, "", "session.GetSessionConfigResponseBody", "session.Session"),
    "session.ConfigureSession": (
        "POST",
        f"{_SESSION}/configure-session",
        "session.ConfigureSessionRequestBody",
        "",
        "session.Session",
    ),
    "session.TriggerSessionHeartbeat": ("POST", f"{_SESSION}/heartbeat", "", "", "session.Session"),
    "statement.CompleteStatement": (
        "GET",
        f"{_SESSION}/complete-statement",
        "statement.CompleteStatementRequestBody",
        "statement.CompleteStatementResponseBody",
        "session.Session",
    ),
    "statement.ExecuteStatement": (
        "POST",
        f"{_SESSION}/statements",
        "statement.ExecuteStatementRequestBody",
        "statement.ExecuteStatementResponseBody",
        "session.Session",
    ),
    "statement.FetchResults": (
        "GET",
        f"{_OPERATION}/result/:token",
        "",
        "statement.FetchResultsResponseBody",
        "statement.FetchResults",
    ),
    "operation.CancelOperation": (
        "POST",
        f"{_OPERATION}/cancel",
        "",
        "operation.OperationStatusResponseBody",
        "operation.Operation",
    ),
    "operation.CloseOperation": (
        "DELETE",
        f"{_OPERATION}/close",
        "",
        "operation.OperationStatusResponseBody",
        "operation.Operation",
    ),
}
"""Method, path, body, response and parameters of each request."""


def compile_classes(flink_home: Path, directory: Path) -> Path:
    """Compile the stand-ins against Flink's jars and return the directory of their classes."""
    sources = dict(_UTILITIES)
    for name, fields in _BODIES.items():
        sources[f"{_REST}.message.{name}"] = _body(name, fields)
    for name, request in _REQUESTS.items():
        sources[f"{_REST}.header.{name}Headers"] = _headers(name, *request)
    files = []
    for name, text in sources.items():
        package = name.rpartition(".")[0]
        file = directory / "sources" / (name.replace(".", "/") + ".java")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"package {package};\n{_IMPORTS}{text}")
        files.append(str(file))
    classes = directory / "classes"
    command = ["javac", "-nowarn", "-cp", f"{flink_home}/lib/*", "-d", str(classes), *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return classes


def _body(name: str, fields: tuple[str, ...]) -> str:
    simple = name.rpartition(".")[2]
    kind = "RequestBody" if simple.endswith("RequestBody") else "ResponseBody"
    names = [field.rpartition(" ")[2] for field in fields]
    parameters = ", ".join(f'@JsonProperty("{name}") {field}' for name, field in zip(names, fields, strict=True))
    members = "\n".join(
        f'    @JsonProperty("{name}") private final {field};\n'
        f"    public {field.rpartition(' ')[0]} get{name[0].upper()}{name[1:]}() {{ return {name}; }}"
        for name, field in zip(names, fields, strict=True)
    )
    assignments = " ".join(f"this.{name} = {name};" for name in names)
    return f"""
public class {simple} implements {kind} {{
{members}
    @JsonCreator public {simple}({parameters}) {{ {assignments} }}
}}
"""


def _headers(name: str, method: str, path: str, request: str, response: str, parameters: str) -> str:
    simple = name.rpartition(".")[2] + "Headers"
    request = f"{_REST}.message.{request}" if request else f"{_EMPTY}RequestBody"
    response = f"{_REST}.message.{response}" if response else f"{_EMPTY}ResponseBody"
    parameters = f"{_REST}.message.{parameters}MessageParameters" if parameters else f"{_EMPTY}MessageParameters"
    getter = "getDefaultInstance" if simple == "FetchResultsHeaders" else "getInstance"
    return f"""
public class {simple} extends {_REST}.header.GatewayHeaders<{request}, {response}, {parameters}> {{
    private {simple}() {{
        super(HttpMethodWrapper.{method}, "{path}", {request}.class, {response}.class);
    }}
    public static {simple} {getter}() {{ return new {simple}(); }}
}}
"""
