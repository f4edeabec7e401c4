"""The service: routes, limits, errors, and a model that can be exchanged while it runs."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from crank._version import __version__
from crank.checks import one_of, whole
from crank.errors import CrankError, ModelFileError, OptionError
from crank.files import is_stream
from crank.service.bodies import (
    ARROW,
    TooLarge,
    arrow_answer,
    arrow_table,
    as_json,
    json_columns,
    parsed,
    single,
)
from crank.service.listening import bound
from crank.service.metrics import Metrics
from crank.service.served import Served, load_served

MOST_BYTES, MOST_ROWS = 32 * 2**20, 100_000
AT_ONCE = 256
"""Rows up to which scoring is quicker than handing it to another thread."""
PATHS = {"/score", "/batch", "/health", "/model", "/schema", "/metrics"}
log = logging.getLogger("crank.service")


class Holder:
    """The model that answers; a new one takes its place in one step, or the old one stays."""

    def __init__(self, path: str | Path, metrics: Metrics) -> None:
        self.path, self.metrics = Path(path), metrics
        self.served: Served = load_served(path)
        self.since = time.time()
        metrics.show_model(self.served.digest)

    def reload(self) -> bool:
        """Read the file again; if it is not usable, go on with the model that is there."""
        try:
            if is_stream(self.path):
                raise ModelFileError(f"{str(self.path)!r} is a pipe, which can be read only once.")
            fresh = load_served(self.path)
        except CrankError as error:
            log.error("reload refused, the old model goes on: %s", error)
            self.metrics.reloads.labels("refused").inc()
            return False
        self.served, self.since = fresh, time.time()
        self.metrics.show_model(fresh.digest)
        self.metrics.reloads.labels("done").inc()
        log.warning("reloaded %s, sha256 %s", self.path, fresh.digest)
        return True


def create_app(
    model: str | Path,
    *,
    max_bytes: int = MOST_BYTES,
    max_rows: int = MOST_ROWS,
    early: Sequence[object] = (),
) -> FastAPI:
    """Build the service around a model file, ONNX or JSON.

    Parameters
    ----------
    model : str or Path
        Read again when the process receives SIGHUP.
    max_bytes, max_rows : int
        Largest body and batch; larger requests are answered with 413.
    early : sequence
        Hangups that came before the service could listen to them: if any, it begins with a reload.

    Returns
    -------
    FastAPI
    """
    whole("max_bytes", max_bytes, 1)
    whole("max_rows", max_rows, 1)
    metrics = Metrics()
    holder = Holder(model, metrics)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        hangup = getattr(signal, "SIGHUP", None)
        loop = asyncio.get_running_loop()
        if hangup is not None:
            try:
                loop.add_signal_handler(hangup, lambda: loop.run_in_executor(None, holder.reload))
            except (NotImplementedError, RuntimeError, ValueError):
                log.info("no reload on SIGHUP: not in the main thread")
        if early:  # the file may have changed since it was read
            holder.reload()
        yield

    app = FastAPI(
        title="crank",
        version=__version__,
        description="Scores of a ranking model; higher is better.",
        lifespan=lifespan,
    )
    app.state.holder, app.state.metrics = holder, metrics

    @app.middleware("http")
    async def counted(
        request: Request, answer: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        start = time.perf_counter()
        response = await answer(request)
        path = request.url.path if request.url.path in PATHS else "other"
        metrics.requests.labels(path, response.status_code).inc()
        metrics.seconds.labels(path).observe(time.perf_counter() - start)
        return response

    @app.exception_handler(CrankError)
    async def refused(request: Request, error: CrankError) -> JSONResponse:
        return JSONResponse({"error": str(error)}, status_code=422)

    @app.exception_handler(TooLarge)
    async def too_large(request: Request, error: TooLarge) -> JSONResponse:
        return JSONResponse({"error": str(error)}, status_code=413)

    async def body_of(request: Request) -> bytes:
        declared = request.headers.get("content-length", "")
        if declared.isdigit() and int(declared) > max_bytes:
            raise TooLarge(f"the body has {declared} bytes. Allowed: at most {max_bytes}.")
        parts, size = [], 0
        async for part in request.stream():
            size += len(part)
            if size > max_bytes:
                raise TooLarge(f"the body has more than {max_bytes} bytes, which is the limit.")
            parts.append(part)
        return b"".join(parts)

    @app.post("/score", summary="Score one row", openapi_extra=_body("Row"))
    async def score(request: Request, type: str = "score") -> JSONResponse:
        served = holder.served
        one_of("type", type, served.outputs)
        value = served.predict(single(served, parsed(await body_of(request))), type)
        metrics.rows.inc()
        return JSONResponse({type: as_json(value)[0], "model": served.digest})

    @app.post("/batch", summary="Score many rows", openapi_extra=_body("Batch", arrow=True))
    async def batch(request: Request, type: str = "score") -> Response:
        served = holder.served
        one_of("type", type, served.outputs)
        body = await body_of(request)
        if request.headers.get("content-type", "").startswith(ARROW):
            return await run_in_threadpool(_arrow, served, body, type)
        data, n = json_columns(served, parsed(body), max_rows)
        if not n:
            return JSONResponse({type: [], "model": served.digest})
        values = (
            served.predict(data, type)
            if n <= AT_ONCE
            else await run_in_threadpool(served.predict, data, type)
        )
        metrics.rows.inc(n)
        return JSONResponse({type: as_json(values), "model": served.digest})

    def _arrow(served: Served, body: bytes, type: str) -> Response:
        table = arrow_table(body, max_rows)
        values = served.predict(table, type)
        metrics.rows.inc(len(values))
        headers = {"crank-model": served.digest}
        return Response(arrow_answer(type, values), media_type=ARROW, headers=headers)

    @app.get("/health", summary="Is the service alive, and which model answers?")
    async def health() -> dict[str, Any]:
        return {"status": "ok", "model": holder.served.digest, "since": holder.since}

    @app.get("/model", summary="What is known of the model")
    async def card() -> dict[str, Any]:
        served = holder.served
        outputs = {"outputs": list(served.outputs), "sha256": served.digest}
        return {**served.card, **outputs}

    @app.get("/schema", summary="JSON Schema of a row")
    async def schema() -> dict[str, Any]:
        return dict(holder.served.row_schema)

    @app.get("/metrics", summary="Counters, for Prometheus")
    async def counters() -> Response:
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    _describe_rows(app, holder)
    return app


def _body(name: str, *, arrow: bool = False) -> dict[str, Any]:
    content: dict[str, Any] = {
        "application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}
    }
    if arrow:
        content[ARROW] = {"schema": {"type": "string", "format": "binary"}}
    return {"requestBody": {"required": True, "content": content}}


def _describe_rows(app: FastAPI, holder: Holder) -> None:
    """Put the model's columns into the OpenAPI description, anew after a reload."""
    without_rows = app.openapi

    def described() -> dict[str, Any]:
        app.openapi_schema = None
        found = without_rows()
        row = {"$ref": "#/components/schemas/Row"}
        found.setdefault("components", {}).setdefault("schemas", {}).update(
            Row=dict(holder.served.row_schema),
            Batch={"type": "object", "properties": {"rows": {"type": "array", "items": row}}},
        )
        return found

    app.openapi = described  # type: ignore[method-assign]  # FastAPI's documented way


def _hangups() -> list[object]:
    """Note hangups from now on: before a service listens, one would end the process."""
    found: list[object] = []
    hangup = getattr(signal, "SIGHUP", None)  # Windows has none
    if hangup is not None and threading.current_thread() is threading.main_thread():
        signal.signal(hangup, lambda number, frame: found.append(number))
    return found


def run(
    model: str | Path, *, host: str, port: int, max_bytes: int, max_rows: int, log_level: str
) -> None:
    """Serve until SIGTERM or Ctrl-C; requests under way are answered first."""
    import uvicorn

    if not 0 <= port <= 65535:
        raise OptionError(f"port={port} is not allowed. Allowed: 0 to 65535.")
    early = _hangups()
    with bound(host, port) as sockets:
        app = create_app(model, max_bytes=max_bytes, max_rows=max_rows, early=early)
        settings = uvicorn.Config(app, log_level=log_level, timeout_graceful_shutdown=30)
        for taken in sockets:
            logging.getLogger("uvicorn.error").info(
                "answers at %s port %s", *taken.getsockname()[:2]
            )
        with suppress(KeyboardInterrupt):
            uvicorn.Server(settings).run(sockets)
