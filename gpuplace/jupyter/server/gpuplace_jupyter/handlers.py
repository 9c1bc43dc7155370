"""HTTP handlers for pages of TensorFlow's files in JupyterLab.

``GET gpuplace/page?path=...&machine=...&soft=1`` returns the page of a file below the server's root, and
``POST gpuplace/page?name=...`` the page of the file in its body, which was dropped on the page. ``GET
gpuplace/template`` is a page without a graph, for explorers in saved notebooks.

Requests need the server's authentication. A file is named by its path below the root; symbolic links and ``..`` that
lead outside are rejected. A process with size and time limits writes the page; it is killed when the browser
disconnects. The page cannot load anything, and runs in a sandbox.

In ``jupyter_server_config.py``::

    c.GpuplacePages.most_bytes = 2**30
    c.GpuplacePages.most_seconds = 300
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from jupyter_server.base.handlers import APIHandler
from jupyter_server.utils import url_path_join
from tornado import web
from traitlets import Float, Int
from traitlets.config import Configurable

__all__ = ["add_handlers"]

_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts allow-downloads"
)
_TEMPLATE = (
    "import sys; from gpuplace.views.page.packed import template_page; sys.stdout.write(template_page())"
)


class GpuplacePages(Configurable):
    """Limits for pages of files."""

    most_bytes = Int(512 * 2**20, config=True, help="Maximum file size in bytes.")
    most_seconds = Float(120.0, config=True, help="Maximum time for a page in seconds.")
    most_processes = Int(2, config=True, help="Maximum number of pages written at the same time.")
    most_page_bytes = Int(256 * 2**20, config=True, help="Maximum page size in bytes.")


def add_handlers(server: Any) -> None:
    """Add the handlers to a server.

    Args:
        server: the running ``ServerApp``.
    """
    limits = GpuplacePages(parent=server)
    base = server.web_app.settings["base_url"]
    shared = {
        "root": Path(server.root_dir),
        "limits": limits,
        "turns": asyncio.Semaphore(limits.most_processes),
    }
    server.web_app.add_handlers(
        ".*$",
        [
            (url_path_join(base, "gpuplace", "page"), PageHandler, shared),
            (url_path_join(base, "gpuplace", "template"), TemplateHandler, shared),
        ],
    )


def file_below(root: Path, path: str) -> Path:
    """Return the file that a path below the root names.

    Args:
        root: the server's root folder.
        path: the path relative to the root, with slashes.

    Raises:
        HTTPError: 404 if there is no such file, 403 if it is outside the root.
    """
    if "\0" in path:
        raise web.HTTPError(400, reason="The path contains a NUL character")
    try:
        resolved = (root / path.lstrip("/")).resolve(strict=True)
    except (OSError, RuntimeError):
        raise web.HTTPError(404, reason="There is no such file") from None
    if not resolved.is_relative_to(root.resolve()):
        raise web.HTTPError(403, reason="The file is outside the folder that this server serves")
    if not resolved.is_file():
        raise web.HTTPError(404, reason="This is not a file")
    return resolved


class _Handler(APIHandler):
    """A handler that runs a process and kills it after a time limit or when the browser disconnects."""

    def initialize(self, root: Path, limits: GpuplacePages, turns: asyncio.Semaphore) -> None:
        self.root, self.limits, self.turns = root, limits, turns
        self._process: asyncio.subprocess.Process | None = None
        self._is_left = False

    @property
    def content_security_policy(self) -> str:
        """The page's permissions: it can load nothing."""
        return _POLICY

    def on_connection_close(self) -> None:
        """Kill the process, whose page is no longer needed."""
        self._is_left = True
        self._kill()
        super().on_connection_close()

    def _kill(self) -> None:
        process = self._process
        if process is not None and process.returncode is None:
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)  # including its child processes
            else:
                process.kill()

    async def run_python(self, *words: str) -> tuple[str, str]:
        """Run Python with some arguments; return its output and its error output."""
        async with self.turns:
            if self._is_left:
                raise web.HTTPError(499, reason="The browser disconnected")
            environ = {**os.environ, "PYTHONSAFEPATH": "1"}  # import no modules from the served folder
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                *words,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=environ,
                start_new_session=True,
            )
            try:
                out, err = await asyncio.wait_for(self._process.communicate(), self.limits.most_seconds)
            except TimeoutError:
                raise web.HTTPError(
                    504, reason=f"Building the page takes more than {self.limits.most_seconds:g} seconds"
                ) from None
            finally:
                self._kill()
        return out.decode("utf-8", "replace"), err.decode("utf-8", "replace")

    def answer(self, page: str) -> None:
        """Send a page."""
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Cache-Control", "no-store")
        self.finish(page)


class PageHandler(_Handler):
    """The page of a file below the root, or of a file in the request."""

    @web.authenticated
    async def get(self) -> None:
        """Send the page of the file that ``path`` names."""
        await self._send(file_below(self.root, self.get_query_argument("path")))

    @web.authenticated
    async def post(self) -> None:
        """Send the page of the file in the body, whose name is ``name``."""
        name = Path(self.get_query_argument("name").replace("\\", "/")).name or "graph.pb"
        with tempfile.TemporaryDirectory(prefix="gpuplace-") as folder:
            path = Path(folder) / name
            path.write_bytes(self.request.body)
            await self._send(path)

    async def _send(self, path: Path) -> None:
        size, most = path.stat().st_size, self.limits.most_bytes
        if size > most:
            raise web.HTTPError(
                413, reason=f"The file has {size:,} bytes; {most:,} are allowed (c.GpuplacePages, most_bytes)"
            )
        with tempfile.TemporaryDirectory(prefix="gpuplace-") as folder:
            page = Path(folder) / "page.html"
            words = ["-m", "gpuplace.cli.file_page"]
            words += ["--soft"] if self.get_query_argument("soft", "") == "1" else []
            words += ["--", str(path), str(page), self.get_query_argument("machine", "")]
            _, complaint = await self.run_python(*words)
            if not page.exists():  # a graph that cannot be placed has a page with the error
                self.set_status(422)
                self.set_header("Content-Type", "text/plain; charset=utf-8")
                self.finish(complaint.replace(str(path), path.name).strip() or "The page cannot be written.")
                return
            if page.stat().st_size > self.limits.most_page_bytes:
                raise web.HTTPError(413, reason="The page for this file is too large for a browser")
            self.answer(page.read_text(encoding="utf-8"))


class TemplateHandler(_Handler):
    """A page without a graph."""

    _made = ""

    @web.authenticated
    async def get(self) -> None:
        """Send the page, which is written once."""
        if not TemplateHandler._made:
            TemplateHandler._made, complaint = await self.run_python("-c", _TEMPLATE)
            if not TemplateHandler._made:
                raise web.HTTPError(500, log_message=complaint, reason="The page cannot be written")
        self.answer(TemplateHandler._made)
