"""The Jupyter server's side of the extension: what it loads, and which files it finds."""

import json
import subprocess
import sys
import zipfile

import pytest

from tests.browser.jupyterlab import ROOT

pytest.importorskip("jupyter_server")

START = """
import sys
import jupyter_server.base.handlers, jupyter_server.utils, asyncio, tempfile
class Server:
    root_dir = "."
    config = {}
    class web_app:
        settings = {"base_url": "/"}
        added = []
        @classmethod
        def add_handlers(cls, host, handlers):
            cls.added += handlers
import gpuplace_jupyter
assert gpuplace_jupyter._jupyter_server_extension_points() == [{"module": "gpuplace_jupyter"}]
import gpuplace_jupyter.handlers as handlers
handlers.GpuplacePages = lambda parent: type("Limits", (), {"most_processes": 1})
gpuplace_jupyter._load_jupyter_server_extension(Server)
print(sorted(route for route, *_ in Server.web_app.added))
print([name for name in sys.modules if name.split(".")[0] in ("gpuplace", "numpy", "google")])
"""


def test_a_server_that_starts_does_not_load_gpuplace():
    answer = subprocess.run(
        [sys.executable, "-c", START], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert answer.stdout.splitlines() == ["['/gpuplace/page', '/gpuplace/template']", "[]"]


def test_files_below_the_root(tmp_path):
    from gpuplace_jupyter.handlers import file_below
    from tornado.web import HTTPError

    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    (root / "folder" / "graph.pb").write_bytes(b"")
    (tmp_path / "secret.pb").write_bytes(b"")
    (root / "link.pb").symlink_to(tmp_path / "secret.pb")
    (root / "inside.pb").symlink_to(root / "folder" / "graph.pb")
    (root / "circle.pb").symlink_to(root / "circle.pb")
    assert file_below(root, "folder/graph.pb") == root / "folder" / "graph.pb"
    assert file_below(root, "/inside.pb") == root / "folder" / "graph.pb"
    refused = {
        "link.pb": 403,
        "../secret.pb": 403,
        "folder/../../secret.pb": 403,
        "folder": 404,
        "none.pb": 404,
        "circle.pb": 404,
        "a\0b": 400,
    }
    for path, status in refused.items():
        with pytest.raises(HTTPError) as raised:
            file_below(root, path)
        assert raised.value.status_code == status, path


def test_pip_installs_both_extensions(tmp_path):
    """A wheel puts the files where JupyterLab and its server look for them."""
    pytest.importorskip("hatchling")
    from hatchling.builders.wheel import WheelBuilder

    [wheel] = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(wheel) as files:
        data = {name.split(".data/data/")[1] for name in files.namelist() if ".data/data/" in name}
        [config] = [
            name for name in files.namelist() if name.endswith("jupyter_server_config.d/gpuplace.json")
        ]
        enabled = json.loads(files.read(config))
    assert "share/jupyter/labextensions/gpuplace/package.json" in data
    assert "share/jupyter/labextensions/gpuplace/static/remoteEntry.js" in data
    assert enabled["ServerApp"]["jpserver_extensions"] == {"gpuplace_jupyter": True}
