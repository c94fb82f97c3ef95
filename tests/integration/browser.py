"""browser.py - a headless Chromium that opens a file, is pointed at and typed into, and tells what the page says.

Speaks the browser's own protocol over a pipe; nothing but Python's library is needed. Raises Absent where there is no
Chromium."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
PATIENCE_S = 60


class Absent(Exception):
    """No browser on this machine, or none that starts."""


class Browser:
    """One browser with one page. Use as a context."""

    def __init__(self):
        program = next((path for path in map(shutil.which, NAMES) if path), None)
        if not program:
            raise Absent("no chromium on PATH; ./dev check installs it")
        self.folder = tempfile.TemporaryDirectory(prefix="spillway-browser-")
        to_read, self.write_end = os.pipe()
        self.read_end, to_write = os.pipe()

        def wire():  # the browser reads from 3 and writes to 4; first out of the way of both
            moved = os.dup2(to_read, 20), os.dup2(to_write, 21)
            os.dup2(moved[0], 3)
            os.dup2(moved[1], 4)

        command = [program, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   "--no-first-run", "--disable-background-networking", "--hide-scrollbars", "--force-color-profile=srgb",
                   f"--user-data-dir={self.folder.name}", "about:blank"]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        close_fds=False, preexec_fn=wire, start_new_session=True,
                                        env={**os.environ, "HOME": self.folder.name})
        os.close(to_read)
        os.close(to_write)
        self.pending, self.next_id, self.events, self.session = b"", 1, [], None
        try:
            target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
            self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        except (EOFError, TimeoutError, StopIteration) as none:
            self.close()
            raise Absent(f"{program} does not start") from none
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        os.close(self.write_end)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, 9)
            self.process.wait()
        os.close(self.read_end)
        self.folder.cleanup()

    # ---- the protocol
    def receive(self, until):
        while b"\0" not in self.pending:
            if not select.select([self.read_end], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            got = os.read(self.read_end, 1 << 20)
            if not got:
                raise EOFError("the browser is gone")
            self.pending += got
        message, self.pending = self.pending.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        message = {"id": self.next_id, "method": method, "params": params, **({"sessionId": self.session} if self.session else {})}
        self.next_id += 1
        data, until = json.dumps(message).encode() + b"\0", time.monotonic() + PATIENCE_S
        while data:
            data = data[os.write(self.write_end, data):]
        while True:
            answer = self.receive(until)
            if answer.get("id") == message["id"]:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    # ---- what a person does
    def size(self, width, height, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def slow(self, rate):
        self.call("Emulation.setCPUThrottlingRate", rate=rate)

    def open(self, path):
        self.events.clear()
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        until = time.monotonic() + PATIENCE_S
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self.receive(until))
        self.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 200)))")

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails'].get('exception', {}).get('description', '?')}")
        return answer["result"].get("value")

    def text(self, identity):
        return self.evaluate(f"document.getElementById({json.dumps(identity)}).innerText")

    def box(self, identity):
        return self.evaluate(f"(e => {{ e.scrollIntoView({{block: 'center'}}); const b = e.getBoundingClientRect(); "
                             f"return [b.x, b.y, b.width, b.height]; }})(document.getElementById({json.dumps(identity)}))")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def point(self, identity, right, down):
        """Moves the pointer to a place of an element, given from 0 to 1 of its width and height."""
        x, y, width, height = self.box(identity)
        place = x + right * width, y + down * height
        self.mouse("mouseMoved", *place)
        return place

    def click(self, identity, right=0.5, down=0.5):
        place = self.point(identity, right, down)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, *place, button="left", clickCount=1)

    def tap(self, identity, right=0.5, down=0.5):
        x, y, width, height = self.box(identity)
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x + right * width, "y": y + down * height}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def key(self, name, code=0):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code)

    def rest(self, seconds):
        self.evaluate(f"new Promise(done => setTimeout(done, {int(1000 * seconds)}))")

    def screenshot(self, path, whole=True):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def complaints(self):
        """Everything that the page's console would show as wrong, and every address but the page's own that was asked for."""
        wrong = []
        for event in self.events:
            method, params = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                wrong.append(params["exceptionDetails"].get("exception", {}).get("description", "exception"))
            elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                wrong.append(str(params["args"]))
            elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                wrong.append(params["entry"]["text"])
            elif method == "Network.requestWillBeSent" and not params["request"]["url"].startswith("file://"):
                wrong.append("asked for " + params["request"]["url"])
        return wrong
