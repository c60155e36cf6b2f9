# A receiver for both formats with nothing but Python's standard library. It listens on plain HTTP: put it behind a
# proxy that speaks TLS.
import hashlib
import hmac
import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ.get("WEBHOOK_SECRET", "").encode("utf-8")
if not SECRET:
    # Everybody knows the empty key: whatever they sign with it would be taken for ours.
    raise SystemExit("Set WEBHOOK_SECRET to the secret of the webhook.")
TOLERANCE_SECONDS = 300
seen = set()
# Every request has a thread of its own.
one_at_a_time = threading.Lock()


def matches(header, message):
    expected = "sha256=" + hmac.new(SECRET, message, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), (header or "").encode())


def matches_any(headers, name, message):
    """After a rotation former secrets sign too, for a day, in headers that begin with the same name."""
    return any(matches(value, message) for header, value in headers.items() if header.lower().startswith(name))


def is_standard(headers, body):
    """The standard format signs `<timestamp>.<raw body>`, and old timestamps are refused."""
    timestamp = headers.get("X-Service-Timestamp", "")
    if not timestamp.isdigit() or abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    message = timestamp.encode() + b"." + body
    return matches_any(headers, "x-service-signature", message)


def is_simple(headers, body):
    """The simple format signs the raw body."""
    return matches_any(headers, "x-webhook-signature", body)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        delivery = self.headers.get("X-Service-Delivery-Id")
        good = is_standard(self.headers, body) if delivery else is_simple(self.headers, body)
        self.send_response(204 if good else 401)
        self.end_headers()
        if not good:
            return
        event = json.loads(body)
        with one_at_a_time:
            # A delivery may come more than once, always under the same id.
            if delivery and delivery in seen:
                return
            seen.add(delivery)
            print(event.get("type") or event.get("event"), flush=True)

    def log_message(self, *arguments):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "9000"))), Receiver)
print(f"listening on {server.server_address[1]}", flush=True)
server.serve_forever()
