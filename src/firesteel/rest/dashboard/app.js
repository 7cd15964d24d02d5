"use strict";
// The dashboard: asks the REST API every few seconds and draws what it says. Pages: #/, #/jobs/<id>, #/taskmanagers, #/jobmanager.
const main = document.getElementById("main"), state = document.getElementById("state"), tip = document.getElementById("tip");
let refreshMs = 3000, timer = null, drawn = "", drawing = 0;

function make(tag, attributes, ...children) {
  const svg = ["svg", "g", "rect", "path", "text", "marker", "defs", "tspan"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "title") { element.dataset.tip = value; element.setAttribute("aria-label", value); }
    else if (name === "place") Object.assign(element.style, value);  // attributes with styles are not allowed
    else if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  for (const child of children.flat()) element.append(child instanceof Node ? child : String(child ?? ""));
  return element;
}
async function ask(path, options) {
  const answer = await fetch(path, options);
  const body = await answer.json();
  if (!answer.ok) throw new Error((body.errors || [answer.statusText]).join(" "));
  return body;
}
const duration = ms => ms < 0 ? "-" : ms < 1000 ? `${ms} ms` : ms < 60000 ? `${(ms / 1000).toFixed(1)} s`
  : ms < 3600000 ? `${Math.floor(ms / 60000)} min ${Math.floor(ms / 1000) % 60} s` : `${Math.floor(ms / 3600000)} h ${Math.floor(ms / 60000) % 60} min`;
const at = ms => ms > 0 ? new Date(ms).toLocaleString() : "-";
const bytes = n => n < 1024 ? `${n} B` : n < 1048576 ? `${(n / 1024).toFixed(1)} KB` : n < 1073741824 ? `${(n / 1048576).toFixed(1)} MB` : `${(n / 1073741824).toFixed(1)} GB`;
const count = n => Number(n).toLocaleString("en");
const stateOf = name => make("span", {class: `state ${name}`}, name);

function table(heads, rows, empty) {
  if (!rows.length) return make("p", {}, empty);
  const isNumber = value => typeof value === "object" && value !== null && "number" in value;
  const cell = value => isNumber(value)
    ? make("td", {class: "number"}, value.number) : make("td", {}, value);
  return make("div", {class: "scroll"}, make("table", {}, make("thead", {}, make("tr", {}, heads.map((h, i) => make("th", {scope: "col", class: isNumber(rows[0][i]) ? "number" : null}, h)))),
    make("tbody", {}, rows.map(row => make("tr", {}, row.map(cell))))));
}
const figures = pairs => make("ul", {class: "figures"}, pairs.map(([name, value]) => make("li", {}, make("b", {}, value), make("span", {}, name))));

async function jobsPage() {
  const [overview, {jobs}] = await Promise.all([ask("overview"), ask("jobs/overview")]);
  jobs.sort((a, b) => b["start-time"] - a["start-time"]);
  const row = job => [make("a", {href: `#/jobs/${job.jid}`}, job.name), stateOf(job.state), at(job["start-time"]),
    {number: duration(job.duration)}, {number: `${job.tasks.running} / ${job.tasks.total}`}];
  const over = job => ["FINISHED", "CANCELED", "FAILED"].includes(job.state);
  const heads = ["Job", "State", "Started", "Duration", "Tasks running"];
  return [make("h1", {}, "Jobs"),
    figures([...(document.body.classList.contains("history") ? [] : [["slots free", `${overview["slots-available"]} / ${overview["slots-total"]}`], ["TaskManagers", overview.taskmanagers],
      ["running", overview["jobs-running"]]]), ["finished", overview["jobs-finished"]], ["cancelled", overview["jobs-cancelled"]], ["failed", overview["jobs-failed"]]]),
    make("div", {class: "live"}, make("h2", {}, "Running"), table(heads, jobs.filter(j => !over(j)).map(row), "No job runs. Submit one: firesteel run -m " + location.host + " job.py")),
    make("h2", {}, "Ended"), table(heads, jobs.filter(over).map(row), "No job has ended.")];
}

function layers(plan) {
  const depth = new Map(), byId = new Map(plan.nodes.map(node => [node.id, node]));
  const of = id => {
    if (!depth.has(id)) depth.set(id, 1 + Math.max(-1, ...(byId.get(id).inputs || []).map(input => of(input.id))));
    return depth.get(id);
  };
  const found = [];
  for (const node of plan.nodes) (found[of(node.id)] ||= []).push(node);
  return found;
}
const busyTime = vertex => vertex.metrics["accumulated-busy-time"];
function busyText(vertex) {
  const busy = busyTime(vertex), whole = busy + vertex.metrics["accumulated-idle-time"] + vertex.metrics["accumulated-backpressured-time"];
  return busy === "NaN" ? "" : `busy ${duration(busy)}` + (whole > 0 ? ` (${Math.round(100 * busy / whole)} %)` : "");
}
function graph(job) {
  const width = 250, height = 102, gapX = 90, gapY = 22, columns = layers(job.plan), places = new Map();
  const vertices = new Map(job.vertices.map(vertex => [vertex.id, vertex]));
  if (!columns.length) return "";  // The job is being made.
  const most = Math.max(...columns.map(column => column.length));
  columns.forEach((column, x) => column.forEach((node, y) => places.set(node.id,
    {x: 16 + x * (width + gapX), y: 16 + (y + (most - column.length) / 2) * (height + gapY)})));
  const svg = make("svg", {width: 32 + columns.length * (width + gapX) - gapX, height: 32 + most * (height + gapY) - gapY, role: "img",
    "aria-label": `Graph of ${job.name}: ${job.vertices.map(v => `${v.name} is ${v.status}`).join("; ")}`});
  for (const node of job.plan.nodes) for (const input of node.inputs || []) {
    const from = places.get(input.id), to = places.get(node.id), x1 = from.x + width, y1 = from.y + height / 2, x2 = to.x, y2 = to.y + height / 2;
    svg.append(make("path", {d: `M${x1} ${y1} C${x1 + 45} ${y1} ${x2 - 45} ${y2} ${x2} ${y2}`}),
      make("text", {x: (x1 + x2) / 2, y: (y1 + y2) / 2 - 5, "text-anchor": "middle", class: "quiet"}, input.ship_strategy));
  }
  for (const [id, place] of places) {
    const vertex = vertices.get(id), watermark = job.watermarks.get(id);
    const short = vertex.name.length > 34 ? vertex.name.slice(0, 33) + "…" : vertex.name;
    const line = (text, dy, extra) => make("text", {x: place.x + 10, y: place.y + dy, class: extra}, text);
    svg.append(make("g", {title: vertex.name},
      make("rect", {x: place.x, y: place.y, width, height, rx: 6, class: vertex.status, stroke: "currentColor"}), line(short, 20),
      line(`${vertex.status}, parallelism ${vertex.parallelism}`, 38, "quiet"),
      line(`${count(vertex.metrics["read-records"])} in, ${count(vertex.metrics["write-records"])} out`, 56, "quiet"),
      line(busyText(vertex), 74, "quiet"),
      line(watermark === undefined ? "" : `watermark ${watermark}`, 92, "quiet")));
  }
  return make("div", {class: "graph", tabindex: 0}, svg);
}
// The present attempts of each vertex, as Flink's dashboard shows them: the status of a job has only the last time that it was entered.
function timeline(job) {
  const until = vertex => vertex["end-time"] > -1 ? vertex["end-time"] : vertex["start-time"] + vertex.duration;
  const started = job.vertices.filter(vertex => vertex["start-time"] > -1).sort((a, b) => a["start-time"] - b["start-time"]);
  if (!started.length) return make("p", {}, "No vertex has started yet.");
  const start = started[0]["start-time"], end = Math.max(...started.map(until)), whole = Math.max(1, end - start);
  const bars = started.map(vertex => {
    const from = vertex["start-time"], text = `${vertex.name}: ${vertex.status}, ${duration(until(vertex) - from)} since ${at(from)}`;
    return [make("p", {}, text), make("div", {class: "timeline", role: "img", "aria-label": text}, make("span", {class: vertex.status, title: text,
      place: {left: `${100 * (from - start) / whole}%`, width: `${100 * Math.max(until(vertex) - from, whole / 500) / whole}%`}}))];
  });
  return bars.flat();
}
// A chart of one figure over time: points are [ms, value]; gaps stand where a value is null. One that was never above 0 has none.
function chart(title, points, shown) {
  const known = points.filter(([, value]) => value !== null);
  if (known.length < 2 || known.every(([, value]) => value === 0)) return "";
  const [width, height, first, last] = [300, 70, points[0][0], points[points.length - 1][0]];
  const most = Math.max(...known.map(([, value]) => value)), latest = known[known.length - 1][1];
  const x = time => width * (time - first) / Math.max(1, last - first), y = value => height - 2 - (height - 4) * value / (most || 1);
  let path = "", pen = "M";
  for (const [time, value] of points) {
    if (value === null) { pen = "M"; continue; }
    path += `${pen}${x(time).toFixed(1)} ${y(value).toFixed(1)}`; pen = "L";
  }
  const text = `${title}: now ${shown(latest)}, at most ${shown(most)} since ${at(first)}`;
  return make("section", {title: text}, make("h3", {}, title), make("p", {}, shown(latest), make("small", {}, ` max ${shown(most)}`)),
    make("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": text, preserveAspectRatio: "none"}, make("path", {d: path})));
}
// The change per second of a total; a total that falls begins anew, as after a restart.
const rates = (times, totals) => times.map((time, i) => [time, i === 0 || totals[i] < totals[i - 1] ? null : 1000 * (totals[i] - totals[i - 1]) / Math.max(1, time - times[i - 1])]);
// The time of a part per batch; it has a gap where no batch ended.
const perBatch = (times, totals, batches) => times.map((time, i) => [time, i === 0 || batches[i] <= batches[i - 1] ? null : (totals[i] - totals[i - 1]) / (batches[i] - batches[i - 1])]);
const BATCH_PARTS = ["plan", "read", "operators", "state", "exchange", "commit"], millis = value => `${value.toFixed(value < 10 ? 1 : 0)} ms`;
function charts(history) {
  const times = history.timestamp, perSecond = value => `${count(Math.round(value))}/s`, of = name => times.map((time, i) => [time, history[name][i]]);
  const drawn = [chart("Records read", rates(times, history["read-records"]), perSecond), chart("Records written", rates(times, history["write-records"]), perSecond),
    chart("Records behind", of("pending-records"), count), chart("Bytes behind", of("pending-bytes"), bytes),
    ...BATCH_PARTS.map(part => chart(`Batch: ${part}`, perBatch(times, history[`batch-${part}-time`], history.batches), millis)), chart("Checkpoint duration", of("checkpoint-duration"), duration), chart("Restarts", of("restarts"), count), chart("Memory of the JobManager", of("memory"), bytes)].filter(Boolean);
  return drawn.length ? make("div", {class: "charts"}, drawn) : make("p", {}, "Charts begin after ten seconds.");
}
const outputs = new Map();  // what each job has printed, as far as it was asked for
async function printedBy(id) {
  const known = outputs.get(id) || {end: 0, text: ""};
  for (;;) {
    const {offset, text} = await ask(`firesteel/jobs/${id}/stdout?offset=${known.end}`);
    if (offset !== known.end) known.text = "";  // The JobManager does not keep what came between, or is another one.
    known.end = offset + [...text].length;
    known.text = (known.text + text).split("\n").slice(-201).join("\n");
    outputs.set(id, known);
    if (!text) return known.text;
  }
}
async function rescale(id, vertex, change) {
  try {
    const wanted = await ask(`jobs/${id}/resource-requirements`), bounds = wanted[vertex].parallelism;
    bounds.upperBound = Math.max(1, bounds.upperBound + change);
    bounds.lowerBound = Math.min(bounds.lowerBound, bounds.upperBound);
    await ask(`jobs/${id}/resource-requirements`, {method: "PUT", headers: {"Content-Type": "application/json"}, body: JSON.stringify(wanted)});
  } catch (error) { alert(error.message); }
  refresh();
}
function subtasks(job, v) {
  if (job.state !== "RUNNING" || job["job-type"] !== "STREAMING") return {number: v.parallelism};
  const button = (text, change) => make("button", {class: "rescale", id: `rescale${change}-${v.id}`, "aria-label": `${change < 0 ? "Fewer" : "More"} subtasks of ${v.name}`,
    onclick: () => rescale(job.jid, v.id, change)}, text);
  return {number: make("span", {}, button("−", -1), ` ${v.parallelism} `, button("+", 1))};
}
function scalings({decisions}, job) {
  if (!decisions.length) return [];
  const names = new Map(job.vertices.map(v => [v.id, v.name]));
  const changes = d => Object.keys(d.after).map(id => `${names.get(id) || id}: ${d.before[id]} → ${d.after[id]}`).join("; ");
  return [make("h2", {}, "Autoscaler"), table(["Decided", "Change", "Busy", "Coming in", "Possible", "Behind", "State"], decisions.map(d => [at(d.timestamp), changes(d), {number: `${Math.round(100 * d.utilization)} %`},
    {number: `${count(Math.round(d["source-data-rate"]))}/s`}, {number: `${count(Math.round(d["true-processing-rate"]))}/s`}, {number: count(d.lag)}, d.executed ? "requested" : d.error || "not carried out"]))];
}
const sizes = (rescale, key) => Object.values(rescale.vertices).map(v => v[key]).join(", ");
// The records that the operators of a vertex have dropped as late; null if none of them can. Archives of jobs have no metrics.
async function lateRecords(path) {
  if (document.body.classList.contains("history")) return null;
  const names = (await ask(`${path}/subtasks/metrics`)).map(metric => metric.id).filter(name => name.endsWith("umLateRecordsDropped"));
  if (!names.length) return null;
  const found = await ask(`${path}/subtasks/metrics?agg=sum&get=${names.map(encodeURIComponent).join(",")}`);
  return found.reduce((total, metric) => total + metric.sum, 0);
}
// The line under the title: a job that restarts over and over is RUNNING most of the time.
function lastFailure([last], history) {
  if (!last) return [];
  const restarts = history.restarts.findLast(number => number !== null) || 0;
  const begin = restarts ? `Restarted ${restarts === 1 ? "once" : `${count(restarts)} times`}; the last failure` : "Failure";
  return [make("p", {id: "failure"}, `${begin}, ${at(last.timestamp)}: ${last.stacktrace.split("\n")[0]}`)];
}
async function jobPage(id) {
  const [job, {exceptionHistory}, checkpoints, slots, printed, history, rescales, autoscaler] = await Promise.all([ask(`jobs/${id}`), ask(`jobs/${id}/exceptions`),
    ask(`jobs/${id}/checkpoints`), ask(`firesteel/jobs/${id}/slots`), printedBy(id),
    ask(`firesteel/jobs/${id}/history`), ask(`jobs/${id}/rescales/history`), ask(`firesteel/jobs/${id}/autoscaler`)]);
  const marks = await Promise.all(job.vertices.map(vertex => ask(`jobs/${id}/vertices/${vertex.id}/watermarks`)));
  job.watermarks = new Map(job.vertices.map((vertex, i) => [vertex.id, marks[i].map(m => Number(m.value)).sort((a, b) => a - b)[0]]));
  const late = await Promise.all(job.vertices.map(vertex => lateRecords(`jobs/${id}/vertices/${vertex.id}`)));
  const canBeLate = late.some(dropped => dropped !== null);
  const over = ["FINISHED", "CANCELED", "FAILED"].includes(job.state);
  const cancel = make("button", {class: "danger", id: "cancel", onclick: async () => {
    if (!confirm(`Cancel job ${job.name}?`)) return;
    try { await ask(`jobs/${id}`, {method: "PATCH"}); } catch (error) { alert(error.message); }
    refresh();
  }}, "Cancel");
  const seconds = Math.max(1, job.duration / 1000);
  return [make("h1", {}, job.name, " ", stateOf(job.state)), make("p", {}, `${id}, ${job["job-type"]}, ${duration(job.duration)} `, over ? "" : cancel),
    ...lastFailure(exceptionHistory.entries, history), graph(job), make("div", {class: "live"}, make("h2", {}, "Last hour"), charts(history)), make("h2", {}, "Vertices"),
    table(["Vertex", "State", "Subtasks", "Records in", "Records out", "per second", "Bytes in", "Bytes out", "Busy", ...(canBeLate ? ["Dropped as late"] : [])], job.vertices.map((v, i) => [v.name, stateOf(v.status), subtasks(job, v),
      {number: count(v.metrics["read-records"])}, {number: count(v.metrics["write-records"])},
      {number: count(Math.round(Math.max(v.metrics["read-records"], v.metrics["write-records"]) / seconds))},
      {number: bytes(v.metrics["read-bytes"])}, {number: bytes(v.metrics["write-bytes"])}, {number: busyText(v).replace("busy ", "")}, ...(canBeLate ? [{number: late[i] === null ? "" : count(late[i])}] : [])]), "None."),
    make("div", {class: "live"}, make("h2", {}, "Slots"), make("div", {class: "slots"}, slots.taskmanagers.map(tm => make("section", {}, make("h3", {}, tm.id),
      tm.slots.map(slot => make("div", {class: "slot"}, slot.subtasks.map(s => make("div", {}, make("span", {class: `state ${s.status}`, title: s.status}, "● "), `${s.name} (${s.subtask + 1}/${s.parallelism})`))))))),
    slots.taskmanagers.length ? "" : make("p", {}, "No subtask has a slot.")),
    make("h2", {}, "Checkpoints"), make("p", {}, `${count(checkpoints.counts.completed)} completed` + (checkpoints.latest.restored ? `, began with ${checkpoints.latest.restored.external_path}` : "")),
    table(["Id", "Kind", "Taken", "Duration", "Written", "State", "Path"], checkpoints.history.map(c => [{number: c.id}, c.is_savepoint ? "savepoint" : "checkpoint", at(c.trigger_timestamp),
      {number: duration(c.end_to_end_duration)}, {number: bytes(c.checkpointed_size)}, {number: bytes(c.state_size)}, c.external_path]), "None was taken."),
    ...(rescales.length ? [make("h2", {}, "Changes of the parallelism"), table(["Begun", "Cause", "Before", "After", "Duration", "End"], rescales.map(r => [at(r.startTimestampInMillis), r.triggerCause,
      {number: sizes(r, "preRescaleParallelism")}, {number: sizes(r, "postRescaleParallelism")}, {number: r.endTimestampInMillis ? duration(r.endTimestampInMillis - r.startTimestampInMillis) : ""}, r.terminatedReason || "in progress"]))] : []),
    ...scalings(autoscaler, job),
    make("h2", {}, "Exceptions"), exceptionHistory.entries.length ? exceptionHistory.entries.map(e => [make("p", {}, at(e.timestamp)), make("pre", {tabindex: 0}, e.stacktrace)]).flat() : make("p", {}, "None."),
    make("div", {class: "live"}, make("h2", {}, "Stdout"), printed ? make("pre", {tabindex: 0, id: "stdout"}, printed) : make("p", {}, "Nothing was printed.")),
    make("h2", {}, "Timeline"), timeline(job)].flat();
}
async function taskManagersPage() {
  const {taskmanagers} = await ask("taskmanagers");
  const details = await Promise.all(taskmanagers.map(async tm => ({...await ask(`taskmanagers/${tm.id}`), ...await ask(`taskmanagers/${tm.id}/logs`)})));
  return [make("h1", {}, "TaskManagers"), make("div", {class: "slots"}, details.map(tm => make("section", {}, make("h3", {}, tm.id), make("p", {}, tm.path), make("p", {}, `${bytes(tm.metrics.heapUsed)} in use, ${bytes(tm.hardware.freeMemory)} of ${bytes(tm.hardware.physicalMemory)} available, ${tm.hardware.cpuCores} cores`),
    tm.allocatedSlots.map(slot => make("div", {class: "slot"}, make("a", {href: `#/jobs/${slot.jobId}`}, slot.jobId))),
    Array.from({length: tm.freeSlots}, () => make("div", {class: "slot free"}, "free")),
    table(["Log", "Size"], tm.logs.map(l => [make("a", {href: `taskmanagers/${tm.id}/logs/${l.name}`}, l.name), {number: bytes(l.size)}]), "It logs to its terminal.")))),
    details.length ? "" : make("p", {}, "None: they are started when a job needs slots.")];
}
async function jobManagerPage() {
  const [options, environment, {logs}] = await Promise.all([ask("jobmanager/config"), ask("jobmanager/environment"), ask("jobmanager/logs")]);
  return [make("h1", {}, "JobManager"), make("p", {}, environment.jvm.version), make("h2", {}, "Options"), table(["Key", "Value"], options.map(o => [o.key, o.value]), "None is set."),
    make("h2", {}, "Logs"), table(["File", "Size"], logs.map(l => [make("a", {href: `jobmanager/logs/${l.name}`}, l.name), {number: bytes(l.size)}]), "It logs to its terminal.")];
}

async function refresh() {
  clearTimeout(timer);
  const mine = ++drawing, route = location.hash.replace(/^#\/?/, "");
  try {
    const page = route.startsWith("jobs/") ? jobPage(route.slice(5)) : route === "taskmanagers" ? taskManagersPage() : route === "jobmanager" ? jobManagerPage() : jobsPage();
    const children = await page;
    if (mine !== drawing) return;
    const focused = document.activeElement && document.activeElement.id;
    main.replaceChildren(...children);
    if (drawn !== route) { drawn = route; tip.hidden = true; window.scrollTo(0, 0); } else if (focused && document.getElementById(focused)) document.getElementById(focused).focus();
    document.title = `${main.querySelector("h1").textContent} - firesteel`;
    state.textContent = ""; state.className = "";
  } catch (error) {
    if (mine !== drawing) return;
    state.textContent = `No answer: ${error.message}`; state.className = "error";
  }
  timer = setTimeout(refresh, refreshMs);
}
// What is cut, in full. A browser's own tips go whenever the page is drawn anew.
function showTip(event) {
  const of = event.target instanceof Element ? event.target.closest("[data-tip]") : null;
  tip.hidden = !of;
  if (!of) return;
  tip.textContent = of.dataset.tip;
  tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${Math.max(8, Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8))}px`;
}
for (const name of ["mousemove", "pointerdown"]) document.addEventListener(name, showTip);  // the latter on phones
document.documentElement.addEventListener("mouseleave", () => { tip.hidden = true; });
addEventListener("hashchange", () => { refresh(); main.focus(); });
ask("config").then(config => {
  refreshMs = config["refresh-interval"];
  document.body.classList.toggle("history", Boolean(config.features["web-history"]));  // Hides what ended jobs do not have.
}).catch(() => {}).finally(refresh);
