"""A server on loopback that speaks `/v1/chat/completions`, knows the right verdicts, and errs on demand.

What goes wrong is chosen by rules, in order, the first that fits: `{"match": "nth:5", "do": "status", "status": 429,
"retry_after": "0.05"}`. `match` is one of `all`, `nth:N`, `nth:N..M` (of all requests, from 1), `attempt:N` (of the same
pairs), `upto:N` (the first N attempts), `after:N` (requests after the N-th), `share:P` (of requests, by a hash of seed, pairs
and attempt, so that the same run meets the same faults in any order of threads), `many` (more than one pair), `label:REGEX`.

    python tests/fakejudge.py --delay 0.05     prints its address; GET /log tells what was asked
"""

import argparse
import gzip
import hashlib
import json
import re
import socket
import struct
import threading
import time
from collections import Counter
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CATEGORIES = ("identical", "synonym", "hypernym", "overlap", "mismatch")
GIVEN = ("synonym", "hypernym", "overlap", "mismatch")  # what the hash chooses from


def canary_table():
    """The known pairs that travel in batches, with their categories."""
    from sgeval.judges.prompt import CANARIES, canaries

    return {
        (pair.kind, pair.reference, pair.prediction): category
        for kind in CANARIES
        for category, pairs in zip(("synonym", "mismatch"), canaries(kind))
        for pair in pairs
    }


def right(kind, a, b, table=()):
    """The right verdict: from the table, either way round, else by a hash of the two labels in any order."""
    for pair in ((kind, a, b), (kind, b, a)):
        if pair in table:
            return table[pair]
    low, high = sorted((a, b))
    return GIVEN[hashlib.sha256(f"{kind}\0{low}\0{high}".encode("utf-8", "surrogatepass")).digest()[0] % len(GIVEN)]


class FakeJudge:
    """The server, in a thread of its own. `obeys` is "nobody", "pair" (an order in a label moves its own verdict), "batch"
    (all of the request) or "strangers" (all but the known pairs)."""

    def __init__(self, rules=(), table=(), seed=7, delay=0.0, obeys="nobody", known=(), keeps=True):
        self.rules, self.table, self.seed, self.delay, self.obeys = list(rules), dict(table), seed, delay, obeys
        self.known = set(known)  # pairs that do not count for telling requests apart
        self.keeps = keeps
        self.bodies, self.headers, self.done = [], [], []  # as they came; rules that were followed
        self.calls = 0
        self.counts, self.attempts = Counter(), Counter()  # by (kind, a, b); by the pairs of a request
        self.most_at_once = self.at_once = 0
        self.lock = threading.Lock()
        self.ends = threading.Event()
        self.server = _Server(("127.0.0.1", 0), _Handler)
        self.server.fake = self
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.server.shutdown()
        self.server.server_close()

    def note(self, body, headers):
        """Count a request; the pairs by id, the attempt, and the rule that fits."""
        with self.lock:
            self.calls += 1
            number = self.calls
            if self.keeps:
                self.bodies.append(body)
                self.headers.append(headers)
            asked = json.loads(json.loads(body)["messages"][1]["content"])
            pairs = {entry["id"]: (asked["kind"], entry["a"], entry["b"]) for entry in asked["pairs"]}
            named = sorted(pair for pair in pairs.values() if pair not in self.known)
            self.counts.update(named)
            name = json.dumps(named)
            self.attempts[name] += 1
            rule = next((rule for rule in self.rules if self._fits(rule, number, name, pairs)), None)
            if rule:
                self.done.append(rule["do"])
            return pairs, rule or {"do": "answer"}

    def _fits(self, rule, number, name, pairs):
        kind, _, value = rule["match"].partition(":")
        attempt = self.attempts[name]
        if kind == "nth":
            first, _, last = value.partition("..")
            return int(first) <= number <= int(last or first)
        if kind == "share":
            text = f"{self.seed}{name}{attempt}".encode("utf-8", "surrogatepass")
            return int.from_bytes(hashlib.sha256(text).digest()[:4], "big") < float(value) * 2**32
        if kind == "label":
            return any(re.search(value, label) for pair in pairs.values() for label in pair[1:])
        return {
            "all": lambda: True,
            "many": lambda: len(pairs) > 1,
            "attempt": lambda: attempt == int(value),
            "upto": lambda: attempt <= int(value),
            "after": lambda: number > int(value),
        }[kind]()

    def verdicts(self, pairs):
        """The verdicts by id, moved by orders in labels where it obeys them."""
        orders = {name: _order(pair) for name, pair in pairs.items()}
        any_order = next(filter(None, orders.values()), None)
        heard = {
            "nobody": dict.fromkeys(pairs),
            "pair": orders,
            "batch": dict.fromkeys(pairs, any_order),
            "strangers": {name: None if pair in self.known else any_order for name, pair in pairs.items()},
        }[self.obeys]
        return {name: heard[name] or right(*pair, self.table) for name, pair in pairs.items()}

    def log(self):
        return {
            "calls": self.calls,
            "most_at_once": self.most_at_once,
            "pairs": [[*k, n] for k, n in self.counts.items()],
        }


def _order(pair):
    words = " ".join(pair[1:]).lower()
    return next((word for word in CATEGORIES if re.search(rf"(answer|say|is|:) {word}\b", words)), None)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, *_):
        pass

    def handle(self):
        with suppress(ConnectionError, TimeoutError):
            super().handle()

    def do_GET(self):
        self.reply(json.dumps(self.server.fake.log()).encode())

    def do_POST(self):
        fake = self.server.fake
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with fake.lock:
            fake.at_once += 1
            fake.most_at_once = max(fake.most_at_once, fake.at_once)
        try:
            if self.path != "/v1/chat/completions":
                return self.reply(b'{"error": {"message": "no such path"}}', 404)
            pairs, rule = fake.note(body, {name.lower(): value for name, value in self.headers.items()})
            if fake.delay:
                fake.ends.wait(fake.delay)
            self.act(pairs, rule)
        finally:
            with fake.lock:
                fake.at_once -= 1

    def act(self, pairs, rule):
        key = self.headers.get("Authorization", "").removeprefix("Bearer ")
        do, fake = rule["do"], self.server.fake
        if do == "status":
            headers = {name: rule[field] for field, name in HEADERS.items() if field in rule}
            error = {"error": {"message": rule.get("say", "as told").format(key=key), "code": rule.get("code")}}
            self.reply(json.dumps(error).encode(), rule["status"], {"X-Echo": key, **headers})
        elif do == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
        elif do == "stall":
            fake.ends.wait(rule.get("seconds", 30))
            self.close_connection = True
        elif do in ("loris", "endless", "huge"):
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(200 << 20))
            self.end_headers()
            part, pause = (b" ", 0.2) if do == "loris" else (b" " * 65536, 0)
            for _ in range((200 << 20) // len(part)):
                self.wfile.write(part)
                self.wfile.flush()
                if fake.ends.wait(pause):
                    break
            self.close_connection = True
        elif do == "gzip":
            self.reply(_bomb(), headers={"Content-Encoding": "gzip"})
        elif do == "body":
            raw = rule["body"]
            self.reply(raw if isinstance(raw, bytes) else raw.encode("utf-8", "surrogatepass"))
        else:
            self.reply(completion(fake.verdicts(pairs), rule, key), headers={"X-Echo": key} if do == "echo" else {})

    def reply(self, body, status=200, headers=()):
        lines = {"Content-Type": "application/json", **dict(headers), "Content-Length": len(body)}
        self.send_response_only(status)
        for name, value in lines.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)


HEADERS = {"retry_after": "Retry-After", "retry_after_ms": "Retry-After-Ms"}


def _bomb(cache=[]):  # noqa: B006
    if not cache:
        cache.append(gzip.compress(bytes(64 << 20)))
    return cache[0]


def completion(verdicts, rule, key=""):
    """The body of a chat completion, right but for what the rule says."""
    do = rule["do"]
    entries = [{"id": name, "category": category} for name, category in verdicts.items()]
    if do == "word":
        entries[-1]["category"] = rule["word"]
    elif do == "flip":
        entries = [
            {**entry, "category": "overlap" if entry["category"] == "synonym" else "synonym"} for entry in entries
        ]
    elif do == "mutate":
        entries = MUTATIONS[rule["how"]](entries)
    text = json.dumps({"verdicts": entries})
    if do == "content":
        text = rule["content"].replace("{answer}", text)
    if do == "echo":
        text += f" {key}"
    message = {"role": "assistant", "content": None if do in ("refusal", "empty") else text}
    if do == "refusal":
        message["refusal"] = "I cannot help with that"
    model = rule["model"] if do == "model" else f"fake-1 {key}" if do == "echo" else "fake-1"
    size = len(verdicts)
    whole = {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "system_fingerprint": rule.get("fingerprint", "fp"),
        "choices": [{"index": 0, "finish_reason": rule.get("finish", "stop"), "message": message}],
        "usage": {
            "prompt_tokens": 400 + 20 * size,
            "completion_tokens": 10 + 20 * size,
            "total_tokens": 410 + 40 * size,
        },
    }
    if rule.get("usage", True) is None:
        del whole["usage"]
    return json.dumps(whole).encode()


MUTATIONS = {
    "doubled": lambda entries: [*entries, entries[0]],
    "doubled, otherwise": lambda entries: [*entries, {"id": entries[0]["id"], "category": "mismatch"}],
    "foreign": lambda entries: [*entries, {"id": "deadbeef", "category": "synonym"}],
    "foreign for one": lambda entries: [{"id": "deadbeef", "category": "synonym"}, *entries[1:]],
    "without the last": lambda entries: entries[:-1],
    "without the first": lambda entries: entries[1:],
    "half": lambda entries: entries[: len(entries) // 2],
    "none": lambda entries: [],
    "reversed": lambda entries: entries[::-1],
    "without ids": lambda entries: [{"category": entry["category"]} for entry in entries],
    "ids as numbers": lambda entries: [{**entry, "id": 7} for entry in entries],
    "ids in capitals": lambda entries: [{**entry, "id": f"{entry['id'].upper()} "} for entry in entries],
    "words only": lambda entries: [entry["category"] for entry in entries],
    "by id": lambda entries: {entry["id"]: entry["category"] for entry in entries},
}


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--delay", type=float, default=0.0)
    options.add_argument("--rules", default="[]")
    options.add_argument("--forgets", action="store_true", help="keep no bodies")
    chosen = options.parse_args()
    table = canary_table()
    with FakeJudge(json.loads(chosen.rules), table, delay=chosen.delay, known=table, keeps=not chosen.forgets) as fake:
        print(fake.url, flush=True)
        try:
            while True:
                time.sleep(60)
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
