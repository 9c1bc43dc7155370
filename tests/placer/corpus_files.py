"""The corpus: real graphs that two releases of TensorFlow wrote, unpacked once per process."""

import io
import json
import lzma
import tarfile
import tempfile
from functools import cache
from pathlib import Path

from gpuplace.graphdef.load import load_placement_graph
from gpuplace.kernels.registry import default_catalogue
from gpuplace.placer.placement_graph import PlacementGraph

DATA = Path(__file__).parent.parent / "data"
RECORDED = json.loads(lzma.decompress((DATA / "corpus-answers.json.xz").read_bytes()))
CASES = [(*key.split(), name) for key, graphs in RECORDED["answers"].items() for name in graphs]
"""``(writer, rules, name)`` of graphs without functions."""
FUNCTION_CASES = [(*key.split(), name) for key, graphs in RECORDED["functions"].items() for name in graphs]
"""The same of graphs with functions."""
_UNPACKED = tempfile.TemporaryDirectory(prefix="gpuplace-corpus-")


@cache
def folder(kind: str, writer: str) -> Path:
    """The folder with the graphs of a kind, `corpus` or `functions`, that a release wrote."""
    target = Path(_UNPACKED.name) / f"{kind}-{writer}"
    data = lzma.decompress((DATA / f"{kind}-{writer}.tar.xz").read_bytes())
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive.getmembers():
            path = target / member.name
            if member.isfile():  # `extractall(filter=...)` came with Python 3.11.4
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(archive.extractfile(member).read())
    return target


def load(kind: str, writer: str, rules: str, name: str) -> PlacementGraph:
    """One graph, as its placer sees it."""
    model = folder(kind, writer) / name
    path = model if model.is_dir() else model.with_name(f"{name}.pb")
    return load_placement_graph(path, default_catalogue(rules), rules, signature="")
