"""A receiver of webhooks that knows nothing of askbox: it checks the signature as https://www.standardwebhooks.com describes it.

receiver.py FOLDER SECRET: writes its port to FOLDER/port, and each request to FOLDER/received, one JSON object a line. While
FOLDER/fails is there, it answers 503.
"""
import base64, hashlib, hmac, json, os, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

folder, secret = sys.argv[1], sys.argv[2]


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        ident, at = self.headers.get("webhook-id", ""), self.headers.get("webhook-timestamp", "")
        signed = hmac.new(secret.encode(), f"{ident}.{at}.".encode() + body, hashlib.sha256).digest()
        expected = "v1," + base64.b64encode(signed).decode()
        is_signed = hmac.compare_digest(expected, self.headers.get("webhook-signature", ""))
        line = {"path": self.path, "signed": is_signed, "id": ident, "at": at, "type": self.headers["content-type"], "body": json.loads(body)}
        with open(os.path.join(folder, "received"), "a") as out:
            out.write(json.dumps(line) + "\n")
        self.send_response(503 if os.path.exists(os.path.join(folder, "fails")) else 204)
        self.end_headers()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
with open(os.path.join(folder, "port.new"), "w") as out:
    out.write(str(server.server_address[1]))
os.rename(os.path.join(folder, "port.new"), os.path.join(folder, "port"))
server.serve_forever()
