"""A headless Chromium for tests, spoken to over its debugging pipe: what a page asks for, what it runs, what it shows.

The Chrome DevTools Protocol needs no package and no driver: JSON messages between zero bytes, read at descriptor 3 of the
browser and written at 4.
"""

import base64
import fcntl
import json
import os
import queue
import shutil
import subprocess
import threading
import time
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
PATIENCE = 120  # seconds; a busy machine starts four apps in minutes


@contextmanager
def serving(folder):
    """The address of a server of a folder, on this machine alone."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def chromium():
    """The browser's program, or `None`."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """A browser with a profile of its own."""

    def __init__(self, profile):
        read, told = os.pipe()
        heard, write = os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (read, write)]  # beyond 3 and 4
        places = f"3<&{ends[0]} 4>&{ends[1]}"
        command = [chromium(), *FLAGS, f"--user-data-dir={profile}"]
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" {places}', "browser", *command],
            pass_fds=ends,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (read, write, *ends):
            os.close(end)
        self._told, self._heard = told, heard
        self._answers, self._tabs, self._n = {}, {}, 0
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        with os.fdopen(self._heard, "rb") as pipe:
            rest = b""
            while block := os.read(pipe.fileno(), 1 << 20):
                *messages, rest = (rest + block).split(b"\0")
                for message in map(json.loads, messages):
                    if "id" in message:
                        self._answers[message["id"]].put(message)
                    elif message.get("sessionId") in self._tabs:
                        self._tabs[message["sessionId"]].told(message["method"], message["params"])

    def send(self, method, session=None, **params):
        """Give an order without waiting for its end; the place of the answer."""
        self._n += 1
        self._answers[self._n] = queue.Queue()
        order = {"id": self._n, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self._told, json.dumps(order).encode() + b"\0")
        return self._answers[self._n]

    def call(self, method, session=None, **params):
        """Give an order and return what comes of it."""
        answer = self.send(method, session, **params).get(timeout=PATIENCE)
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def tab(self, width=1200, height=900, dark=False):
        """A new empty page in a window of this size."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = self._tabs[session] = Tab(self, session, target)
        for part in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{part}.enable", session)
        self.call("Network.setCacheDisabled", session, cacheDisabled=True)
        tab.look(width, height, dark)
        return tab

    def close(self):
        """End the browser."""
        self._process.kill()
        self._process.wait()
        os.close(self._told)


class Tab:
    """A page: `requests` holds the addresses it asked for, `dialogs` what it said in a dialog, `faults` what was logged."""

    def __init__(self, browser, session, target):
        self._browser, self._session, self._target = browser, session, target
        self.requests, self.dialogs, self.faults = [], [], []
        self._loaded = threading.Event()

    def told(self, method, params):
        """What the browser tells of the page."""
        if method == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if not url.startswith("data:") and not url.endswith("/favicon.ico"):  # the browser's own wish
                self.requests.append(url)
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(params["message"])
            self._browser.send("Page.handleJavaScriptDialog", self._session, accept=False)
        elif method == "Log.entryAdded" and not params["entry"].get("url", "").endswith("/favicon.ico"):
            self.faults.append(params["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.faults.append(str(params["exceptionDetails"]))
        elif method == "Page.loadEventFired":
            self._loaded.set()

    def look(self, width, height=900, dark=False):
        """Give the window another size and the reader another taste."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        self._call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, url):
        """Go to an address and wait until everything of it is there."""
        self._loaded.clear()
        self._call("Page.navigate", url=url)
        assert self._loaded.wait(PATIENCE), f"{url}: not loaded"
        return self

    def run(self, script):
        """The value of a JavaScript expression."""
        found = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, script):
        """Wait until an expression has a value that counts as true, and return it."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if value := self.run(script):
                return value
            time.sleep(0.1)
        raise AssertionError(f"never came true: {script}")

    def press(self, key, code):
        """Press a key."""
        for kind in ("keyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def choose(self, selector, *files):
        """Choose files in an input, as the reader does in a dialog of the browser."""
        root = self._call("DOM.getDocument")["root"]["nodeId"]
        node = self._call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        assert node, f"{selector}: not on the page"
        self._call("DOM.setFileInputFiles", nodeId=node, files=[str(file) for file in files])

    def write(self, selector, text):
        """Put the cursor into a field, and its text in place of what stands there."""
        self.wait(
            f"(each => each && (each.focus(), each.select(), true))(document.querySelector({json.dumps(selector)}))"
        )
        self.press("Delete", 46)
        self._call("Input.insertText", text=text)

    def picture(self, path, whole=True):
        """A PNG of the page."""
        data = self._call("Page.captureScreenshot", captureBeyondViewport=whole, **self._clip(whole))["data"]
        path.write_bytes(base64.b64decode(data))
        return path

    def _clip(self, whole):
        if not whole:
            return {}
        size = self._call("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}

    def close(self):
        """Close the page."""
        self._browser.call("Target.closeTarget", targetId=self._target)

    def _call(self, method, **params):
        return self._browser.call(method, self._session, **params)
