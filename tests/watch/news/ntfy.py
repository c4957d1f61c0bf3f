"""An ntfy server as far as its documentation (https://docs.ntfy.sh/publish/, /subscribe/api/) describes what askbox uses.

ntfy.py FOLDER: writes its port to FOLDER/port, and each message that is published as JSON to FOLDER/published. A POST to /TOPIC publishes
a text. GET /TOPIC/json?since=ID or TIME streams the topic: what came after that, then what comes. While FOLDER/cut is there, each stream
ends soon.
"""
import json, os, sys, threading, time, uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

folder = sys.argv[1]
store, news = os.path.join(folder, "messages"), threading.Condition()


def messages(topic):
    if not os.path.exists(store):
        return []
    with open(store) as lines:
        return [m for m in map(json.loads, lines) if m["topic"] == topic]


class Ntfy(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        topic = urlparse(self.path).path.strip("/")
        if topic:
            message = {"topic": topic, "message": body}
        else:
            message = json.loads(body)
            with open(os.path.join(folder, "published"), "a") as out:
                out.write(json.dumps({**message, "authorization": self.headers.get("authorization")}) + "\n")
        message = {**message, "id": uuid.uuid4().hex[:12], "time": int(time.time()), "event": "message"}
        with news:
            with open(store, "a") as out:
                out.write(json.dumps(message) + "\n")
            news.notify_all()
        answer = json.dumps(message).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def do_GET(self):
        url = urlparse(self.path)
        topic, since = url.path.strip("/").split("/")[0], parse_qs(url.query).get("since", ["none"])[0]
        with open(os.path.join(folder, "followed"), "a") as out:
            out.write(json.dumps({"topic": topic, "since": since, "authorization": self.headers.get("authorization")}) + "\n")
        self.send_response(200)
        self.send_header("content-type", "application/x-ndjson")
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(b'{"id":"x","event":"open"}\n')
        self.wfile.flush()
        sent = 0
        with news:
            while not os.path.exists(os.path.join(folder, "cut")):
                all_of = messages(topic)
                known = [n for n, m in enumerate(all_of) if m["id"] == since]
                first = known[0] + 1 if known else 0
                later = [m for m in all_of[first:] if known or not since.isdigit() or m["time"] >= int(since)]
                # A follower may be killed at any time.
                try:
                    for message in later[sent:]:
                        self.wfile.write((json.dumps(message) + "\n").encode())
                        sent += 1
                    self.wfile.write(b'{"id":"k","event":"keepalive"}\n')
                    self.wfile.flush()
                except OSError:
                    return
                news.wait(1)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True


server = Server(("127.0.0.1", 0), Ntfy)
with open(os.path.join(folder, "port.new"), "w") as out:
    out.write(str(server.server_address[1]))
os.rename(os.path.join(folder, "port.new"), os.path.join(folder, "port"))
server.serve_forever()
