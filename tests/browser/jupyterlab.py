"""A JupyterLab of its own on loopback, and a Chromium that opens notebooks in it; nothing leaves the machine."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.isolation import PROCESS_VARIABLES

TOKEN = "gpuplace-tests"
CHROMIUM_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SETTINGS = {
    # Else a fresh profile asks whether to fetch news.
    "apputils-extension/notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
    # Else cells out of sight are detached.
    "notebook-extension/tracker": {"windowingMode": "none"},
}
START_S = 60
ROOT = Path(__file__).resolve().parents[2]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@dataclass
class Lab:
    """A JupyterLab for notebooks of one test or module after the other: starting it takes seconds."""

    base: str
    """Its address."""
    root: Path
    """The folder that it serves."""
    state: Path
    """Logs and settings."""

    @contextlib.contextmanager
    def fresh(
        self, theme: str = "JupyterLab Light", settings: dict[str, dict] | None = None
    ) -> Iterator[str]:
        """Yields the address of a JupyterLab as if just started: no notebooks, kernels and settings but these."""
        for path in (self.root, self.state / "settings", self.state / "workspaces"):
            shutil.rmtree(path, ignore_errors=True)
        self.root.mkdir()
        themed = {"apputils-extension/themes": {"theme": theme}}
        for name, values in {**SETTINGS, **themed, **(settings or {})}.items():
            path = self.state / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(values))
        try:
            yield self.base
        finally:
            for kind in ("sessions", "kernels"):
                for found in json.loads(self._ask(kind)):
                    self._ask(f"{kind}/{found['id']}", "DELETE")

    def _ask(self, what: str, method: str = "GET") -> bytes:
        request = urllib.request.Request(f"{self.base}/api/{what}?token={TOKEN}", method=method)
        with urllib.request.urlopen(request, timeout=START_S) as answer:
            return answer.read()


SERVER_PART = ROOT / "gpuplace/jupyter/server"


def install_extension(data: Path, config: Path, has_extension: bool) -> None:
    """Puts gpuplace's extension where `pip install` puts it, or turns off the one of this environment."""
    enabled = config / "jupyter_server_config.d"
    enabled.mkdir(parents=True)
    if has_extension:
        source = SERVER_PART / "gpuplace_jupyter"
        shutil.copytree(source / "labextension", data / "labextensions" / "gpuplace")
        shutil.copy(source / "server-config.json", enabled / "gpuplace.json")
        return
    off = {"ServerApp": {"jpserver_extensions": {"gpuplace_jupyter": False}}}
    (enabled / "gpuplace.json").write_text(json.dumps(off))
    (config / "labconfig").mkdir()
    (config / "labconfig" / "page_config.json").write_text(
        json.dumps({"disabledExtensions": {"gpuplace": True}})
    )


@contextlib.contextmanager
def jupyterlab(
    state: Path, *, has_extension: bool = False, program: str = "jupyterlab", options: Sequence[str] = ()
) -> Iterator[Lab]:
    """Serves a folder; logs, settings and the folder are in `state`.

    Args:
        state: an empty folder.
        has_extension: whether gpuplace's extension is installed.
        program: the module that serves, "jupyterlab" or "notebook".
        options: further words of the command.
    """
    root = state / "notebooks"
    root.mkdir()
    install_extension(state / "data", state / "config", has_extension)
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("JUPYTER") and name not in PROCESS_VARIABLES
    }
    folders = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "run",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "IPYTHONDIR": "ipython",
    }
    env |= {name: str(state / folder) for name, folder in folders.items()}
    # The folders above go before those of the environment, which may have another gpuplace.
    env |= {"JUPYTER_PREFER_ENV_PATH": "0", "PYTHONUNBUFFERED": "1"}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), str(SERVER_PART), env.get("PYTHONPATH")]))
    port = free_port()
    command = [
        *(
            sys.executable,
            "-m",
            program,
            "--no-browser",
            "--allow-root",
            "--ip=127.0.0.1",
            f"--port={port}",
        ),
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={TOKEN}",
        f"--ServerApp.root_dir={root}",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.news_url=None",
        "--LabApp.expose_app_in_browser=True",
        "--LabApp.extension_manager=readonly",
        *options,
    ]
    log_path = state / "jupyterlab.log"
    with open(log_path, "wb") as log:
        server = subprocess.Popen(
            command, env=env, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
        base = f"http://127.0.0.1:{port}"
        try:
            _wait_for(server, f"{base}/api/status?token={TOKEN}", log_path)
            yield Lab(base, root, state)
        finally:  # the server, asked to end, ends its kernels
            server.send_signal(signal.SIGTERM)
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait()


def _wait_for(server: subprocess.Popen, url: str, log_path: Path) -> None:
    end = time.monotonic() + START_S
    while True:
        try:
            urllib.request.urlopen(url, timeout=2).read()
            return
        except OSError:
            if server.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"JupyterLab did not start:\n{log_path.read_text()[-3000:]}") from None
            time.sleep(0.1)


def chromium_path() -> str:
    """Where Chromium is."""
    return next(path for name in CHROMIUM_NAMES if (path := shutil.which(name)))


@dataclass
class Watch:
    """What a page should not do."""

    base: str
    errors: list[str] = field(default_factory=list)
    """Uncaught exceptions and console errors."""
    elsewhere: list[str] = field(default_factory=list)
    """Requests to another host."""

    def over(self, page) -> "Watch":
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: self._console(message))
        page.on("request", lambda request: self._request(request.url))
        return self

    def _console(self, message) -> None:
        if message.type == "error" and "favicon" not in message.text:
            self.errors.append(message.text)

    def _request(self, url: str) -> None:
        near = (self.base, self.base.replace("http", "ws", 1), "data:", "blob:")
        if not url.startswith(near):
            self.elsewhere.append(url)


def open_notebook(page, base: str, name: str, timeout_s: float = 60) -> None:
    """Opens a notebook and waits until its kernel is there and idle."""
    page.goto(f"{base}/lab/tree/{name}?token={TOKEN}&reset")
    # The toolbar of a narrow window does not show the kernel, so its state is asked for.
    page.wait_for_function(
        """() => {
            const panel = window.jupyterapp?.shell.currentWidget;
            return panel?.context?.sessionContext?.session?.kernel?.status === 'idle'
                && !document.querySelector('#jupyterlab-splash');
        }""",
        timeout=timeout_s * 1000,
    )


def run_all(page, timeout_s: float = 120) -> None:
    """Runs all cells and waits until each has its number; numbers that the notebook was saved with are taken away."""
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name=re.compile("^Run All Cells$")).click()
    page.wait_for_function(
        r"""() => {
            const prompts = [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')];
            return prompts.length && prompts.every((prompt) => /^\[\d+\]:$/.test(prompt.textContent.trim()));
        }""",
        timeout=timeout_s * 1000,
    )
