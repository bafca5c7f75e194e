"""How do tests ask a ResourceManager that does not run? A server on loopback repeats what a real one once said."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

APPS = "/ws/v1/cluster/apps?states=ACCEPTED,RUNNING"
SCHEDULER = "/ws/v1/cluster/scheduler"


class RecordedRm:
    """One recording under `url`; tests may change `said` (body by path), and priorities are kept as a real RM does."""

    def __init__(self, version: str) -> None:
        recording = json.loads((Path(__file__).with_name("recorded") / f"{version}.json").read_text())
        self.said: dict[str, Any] = {path: answer["body"] for path, answer in recording.items()}
        self.status: dict[str, int] = {path: answer["status"] for path, answer in recording.items()}
        self.calls: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"

    @property
    def apps(self) -> list[dict[str, Any]]:
        """The applications, as the RM says them."""
        return self.said[APPS]["apps"]["app"]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _set_priority(self, path: str, wanted: int) -> tuple[int, Any]:
        id = path.split("/")[-2]
        for app in self.apps:
            if app["id"] == id:
                app["priority"] = wanted
                return 200, {"priority": wanted}
        return 404, {"RemoteException": {"message": f"app with id: {id} not found"}}

    def _handler(rm) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                rm.calls.append(self.path)
                self._answer(rm.status.get(self.path, 404), rm.said.get(self.path, ""))

            def do_PUT(self) -> None:
                rm.calls.append(self.path)
                wish = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self._answer(*rm._set_priority(self.path, wish["priority"]))

            def _answer(self, status: int, body: Any) -> None:
                text = body if isinstance(body, str) else json.dumps(body)
                self.send_response(status)
                self.send_header("Content-Length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        return Handler
