"""How do the parts come together? `build_app` wires them, `serve` runs them on a socket."""

import asyncio
import atexit
import gc
import logging
import os
import resource
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import structlog
import uvicorn
from fastapi import FastAPI

from controlplane.api import app as web
from controlplane.api import pages
from controlplane.api.connections import OPERATORS, BoundedProtocol, Gate, few_connections, most_connections
from controlplane.engine.scheduler import IDS_PER_EPOCH, LAST_EPOCH, Scheduler
from controlplane.engine.warming import warm
from controlplane.model.errors import BadSettings
from controlplane.model.facts import Mode
from controlplane.printable import harmless
from controlplane.processes import COMPILED_ONCE, operators_socket, remove_socket
from controlplane.runtime.choices import CHOICES
from controlplane.runtime.live import Runtime
from controlplane.runtime.log_lines import LogLines
from controlplane.runtime.recorder import RecordedScheduler, begin
from controlplane.settings import SECTIONS, Settings, holding, in_force
from controlplane.store.database import shown_url
from controlplane.store.store import Store

_log = structlog.get_logger()

GC_THRESHOLDS = (10_000, 20, 50)
"""The state of 100,000 tasks takes 60 ms to scan and is hardly ever garbage."""

LATEST_S = 2**32
"""Unix seconds, in the year 2106, from which on a clock is not believed. Half of all ids are left for later runs."""

KEEP_ALIVE_S = 75
"""An idle connection stays open this long: longer than any interval of a shim, so it never finds it closed."""


def build_app(
    settings: Settings,
    *,
    clock: Callable[[], float] = time.monotonic,
    plane_epoch: int | None = None,
) -> FastAPI:
    """The application, not yet started; its lifespan starts the store and the cycles. Tests may bring a clock.

    Ids of decisions start with the second of the start, but never below an earlier run's: the wall clock may have been
    set back. An absurdly late one is not believed: its ids would stay, and soon be larger than shims accept.
    """
    epoch = time.time_ns() // 1_000_000 if plane_epoch is None else plane_epoch
    url = settings.store_settings().url
    store = Store(settings.store_settings())
    newest = store.newest_id()
    started_s = epoch // 1000
    if started_s >= LATEST_S:
        _log.error("clock_not_believed", unix_s=started_s, store=shown_url(url))
        started_s = 0
    order_epoch = max(started_s, newest // IDS_PER_EPOCH + 1)
    if order_epoch > LAST_EPOCH:
        about = "shims refuse ids as large as those of this store, and so every order; choose another store"
        _log.error("ids_used_up", store=shown_url(url), newest_id=newest, about=about)
    epoch = max(epoch, order_epoch * 1000)
    pace = settings.runtime_settings()
    recorder = begin(Path(pace.record_to), str(epoch), pace.record_mb * 2**20) if pace.record_to else None
    make = partial(RecordedScheduler, recorder=recorder) if recorder else Scheduler
    scheduler = make(settings.engine_settings(), order_epoch=order_epoch)
    runtime = Runtime(scheduler, pace, store, plane_epoch=epoch, clock=clock)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        store.open()
        _recall(runtime, settings)
        recalling = asyncio.create_task(_recall_late(app), name="grasshopper-recall")
        runtime.start()
        try:
            yield
        finally:
            recalling.cancel()
            await runtime.stop()
            store.close()
            if recorder:
                recorder.close()

    app = web.build(
        runtime,
        tokens=settings.auth.tokens(),
        max_body_bytes=settings.server.max_body_bytes,
        max_bodies_bytes=settings.server.max_bodies_bytes,
        lifespan=lifespan,
        pages=pages.router,
    )
    app.state.demo_report = settings.server.demo_report
    app.state.settings = app.state.loaded = settings
    return app


def reload(app: FastAPI) -> None:
    """Reads the file of settings again. What it says of the engine holds from the next cycle on, unless it was changed
    at run time since; the rest waits for a restart. A wrong file is refused whole, and nothing changes.
    """
    runtime: Runtime = app.state.runtime
    started: Settings = app.state.settings
    before = runtime.scheduler.settings
    try:
        found = started.again()
        runtime.configure(in_force(found, runtime.store.settings, runtime.choices.mode))
        app.state.loaded = found
    except BadSettings as error:
        _log.error("settings_refused", problems=[str(problem) for problem in error.problems])
        return
    engine = runtime.scheduler.settings
    changed = [field.name for field in fields(engine) if getattr(engine, field.name) != getattr(before, field.name)]
    waiting = [name for name in SECTIONS if name != "engine" and getattr(found, name) != getattr(started, name)]
    _log.info("settings_reloaded", changed=changed, wait_for_restart=waiting)
    _tell_left_out(found, runtime.store.settings)
    details = {name: getattr(engine, name) for name in changed}
    runtime.store.audit(role="local", action="reload", reason="SIGHUP", details=details)


def serve(settings: Settings, *, on_start: Callable[[str], None] | None = None) -> None:
    """Runs until it is told to stop (SIGTERM, Ctrl-C). `on_start` gets the address, with the chosen port.

    It listens only when all kernels are ready: compiling one while facts wait would delay everybody.
    SIGTERM is an end in good order from the first moment on, also as the first process of a container, which would
    not hear it without a handler; the compiler swallows exceptions, and nothing is open yet, so until the kernels are
    there it ends the process at once. Until there is something to reload, SIGHUP must not end the process. A driver
    holds two connections, so the usual soft limit of 1024 open files would do for some five hundred.
    """
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    set_up_logs(settings)
    _log.info("loading_kernels", about=f"they are {COMPILED_ONCE}")
    for policy, raised in warm().items():
        _log.error("policy_failed", policy=policy, raised=raised)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    app = build_app(settings)
    runtime: Runtime = app.state.runtime
    gate = build_gate(settings, runtime, most_files)
    config = uvicorn.Config(
        app,
        host=settings.server.host,
        port=settings.server.port,
        loop="uvloop",
        http=partial(BoundedProtocol, gate=gate),  # type: ignore[arg-type]  # it is called as the class would be
        proxy_headers=bool(settings.server.trusted_proxies),
        forwarded_allow_ips=settings.server.trusted_proxies,
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=round(settings.server.drain_s),
    )
    _Server(config, app, on_start).run()


def build_gate(settings: Settings, runtime: Runtime, most_files: int) -> Gate:
    """The gate of drivers and readers, in a process that may open `most_files` files."""
    wanted = settings.server.max_connections
    most = most_connections(wanted, most_files)
    if advice := few_connections(wanted, most_files):
        _log.warning("few_connections", most=most, about=f"a driver holds two; {advice}")
    return Gate(
        most=most,
        most_of_address=settings.server.max_connections_per_address,
        metrics=runtime.metrics,
        complaints=runtime.complaints,
    )


class _Server(uvicorn.Server):
    """Reports where it listens, once it does, and handles SIGHUP."""

    def __init__(self, config: uvicorn.Config, app: FastAPI, on_start: Callable[[str], None] | None) -> None:
        super().__init__(config)
        self._app = app
        self._on_start = on_start
        self._operators: list[Path] = []

    async def startup(self, sockets: Any = None) -> None:
        """Starts listening, then freezes start-up's objects: later collections are rare, and skip them."""
        await super().startup(sockets)
        if not self.started:
            return
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        for listener in self.servers[0].sockets:
            await self._listen_to_operators(*listener.getsockname()[:2])
        _log.info("serving", address=address)
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload, self._app)
        gc.collect()
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLDS)
        if self._on_start:
            self._on_start(address)

    async def shutdown(self, sockets: Any = None) -> None:
        """Ends whatever would not end by itself, then waits for the rest."""
        runtime: Runtime = self._app.state.runtime
        runtime.feed.close()
        runtime.doorbell.close()
        for path in self._operators:
            path.unlink(missing_ok=True)
        await super().shutdown(sockets)
        _log.info("stopped")

    async def _listen_to_operators(self, host: str, port: int) -> None:
        """Opens a socket in the file system for this user alone, with connections that no driver can take away."""
        runtime: Runtime = self._app.state.runtime
        gate = Gate(most=OPERATORS, most_of_address=OPERATORS, metrics=runtime.metrics, complaints=runtime.complaints)
        protocol = partial(
            BoundedProtocol,
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
            gate=gate,
        )
        path = operators_socket(host, port)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            remove_socket(path)
            before = os.umask(0o177)
            try:
                self.servers.append(await asyncio.get_running_loop().create_unix_server(protocol, str(path)))
            finally:
                os.umask(before)
        except OSError as error:
            _log.warning("no_operators_socket", path=str(path), problem=str(error))
        else:
            self._operators.append(path)


def set_up_logs(settings: Settings) -> None:
    """JSON lines, or text for people, on standard error; other libraries only from warnings on.

    Text is coloured only on a terminal, and not if NO_COLOR (no-color.org) is set.

    uvicorn warns of each request that is no HTTP; those are counted and told in `api/connections.py`. It tells where
    each request stood that it cut off at the end; how many there were is enough. Nobody waits for who reads the lines,
    or fails without him; standard error may even be closed.
    """
    place = os.dup(sys.stderr.fileno()) if sys.stderr else os.open(os.devnull, os.O_WRONLY)
    lines = LogLines(partial(os.write, place))
    atexit.register(lines.close)
    people = settings.log.format == "console"
    colors = os.isatty(place) and not os.environ.get("NO_COLOR")
    processors: list[Any] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _harmless_fields if people else structlog.processors.format_exc_info,
        structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=structlog.dev.plain_traceback)
        if people
        else structlog.processors.JSONRenderer(),
    ]
    of_libraries = [structlog.stdlib.add_logger_name, structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    handler = logging.StreamHandler(lines)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processors=[*of_libraries, *processors]))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    logging.getLogger("uvicorn.error").addFilter(_is_no_cut)
    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(settings.log.level.upper())),
        logger_factory=structlog.WriteLoggerFactory(lines),  # type: ignore[arg-type]  # it is written to, no more
        cache_logger_on_first_use=True,
    )


def _is_no_cut(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


def _harmless_fields(_logger: Any, _method: str, fields: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Callers' text may neither control the reader's terminal nor look like a line of ours; JSON escapes it."""
    return {name: _harmless(value) for name, value in fields.items()}


def _harmless(value: Any) -> Any:
    return harmless(value).replace("\n", "\\n") if isinstance(value, str) else value


async def _recall_late(app: FastAPI) -> None:
    """Retries reading a store that could not be read at the start, and then recalls."""
    runtime: Runtime = app.state.runtime
    store: Store = runtime.store
    while store.unread:
        await asyncio.sleep(app.state.settings.store_settings().retry_s)
        if (stored := await asyncio.to_thread(store.read)) is not None:
            store.take_up(stored)
            _recall(runtime, app.state.loaded)


def _recall(runtime: Runtime, settings: Settings) -> None:
    """Recalls what was learned, changed and chosen before the restart, as far as the store could be read."""
    store, stored = runtime.store, runtime.store.settings
    if left_out := runtime.scheduler.restore(store.learned):
        _log.warning("learned_in_part", left_out=left_out)
    if store.unread:
        _log.error("choices_not_read", mode_at_most=Mode.SHADOW.value)
    else:
        runtime.choices.recall(stored.get(CHOICES, []), runtime.scheduler.steering)
    runtime.configure(in_force(settings, stored, runtime.choices.mode))
    if stored:
        _log.info("changed_settings_restored", names=sorted(holding(settings, stored)), mode=runtime.mode.value)
    _tell_left_out(settings, stored)


def _tell_left_out(settings: Settings, stored: Mapping[str, Any]) -> None:
    """Logs changes made at run time that do not hold."""
    held = {CHOICES, *holding(settings, stored)}
    if left_out := sorted(name for name, value in stored.items() if value is not None and name not in held):
        _log.warning("changed_settings_not_restored", names=left_out)
