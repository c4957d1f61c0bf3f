"""A collector of OpenTelemetry that knows nothing of askbox: it takes OTLP over HTTP in JSON, and checks each span by the specification.

collector.py FOLDER: writes its port to FOLDER/port, each span to FOLDER/spans, and each request to FOLDER/requests, one JSON object a line.
While FOLDER/fails is there, it answers 503.
"""
import json, os, re, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

folder = sys.argv[1]
FIELDS = {"traceId", "spanId", "parentSpanId", "traceState", "name", "kind", "startTimeUnixNano", "endTimeUnixNano", "attributes", "events", "status"}


def wrong(span):
    is_id = lambda name, digits: re.fullmatch(r"[0-9a-f]{%d}" % digits, span.get(name, "")) and set(span[name]) != {"0"}
    times = [span["startTimeUnixNano"], span["endTimeUnixNano"], *(event["timeUnixNano"] for event in span["events"])]
    checks = {
        "fields": set(span) <= FIELDS,
        "ids": is_id("traceId", 32) and is_id("spanId", 16) and ("parentSpanId" not in span or is_id("parentSpanId", 16)),
        "times": all(isinstance(at, str) and at.isdigit() and len(at) == 19 for at in times) and int(times[0]) <= int(times[1]),
        "attributes": all(set(a) == {"key", "value"} and len(a["value"]) == 1 for a in span["attributes"]),
        "kind": span["kind"] == 1,
    }
    return [name for name, is_right in checks.items() if not is_right]


class Collector(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        spans = [span for one in body["resourceSpans"] for scope in one["scopeSpans"] for span in scope["spans"]]
        service = body["resourceSpans"][0]["resource"]["attributes"][0]
        line = {"path": self.path, "headers": {name.lower(): value for name, value in self.headers.items()}, "service": service, "spans": len(spans)}
        fails = os.path.exists(os.path.join(folder, "fails"))
        # The tests wait for spans, and then read the requests.
        with open(os.path.join(folder, "requests"), "a") as out:
            out.write(json.dumps(line) + "\n")
        with open(os.path.join(folder, "spans"), "a") as out:
            out.write("".join(json.dumps({**span, "wrong": wrong(span), "taken": not fails}) + "\n" for span in spans))
        self.send_response(503 if fails else 200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
with open(os.path.join(folder, "port.new"), "w") as out:
    out.write(str(server.server_address[1]))
os.rename(os.path.join(folder, "port.new"), os.path.join(folder, "port"))
server.serve_forever()
