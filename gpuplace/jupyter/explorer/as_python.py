"""Settings as Python code: environment, machine, ``ConfigProto``, and the placement as device requests.

>>> from gpuplace.device.machine import Machine
>>> print(settings_code(Settings(Machine.parse("2x Tesla K40c"), "1.4", True, "1", device_count={"GPU": 1})))
import os
<BLANKLINE>
import gpuplace as tf
<BLANKLINE>
os.environ["CUDA_VISIBLE_DEVICES"] = "1"  # before the first session
tf.set_release("1.4")
tf.use_machine("2x Tesla K40c")
config = tf.ConfigProto(allow_soft_placement=True, device_count={"GPU": 1})
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from gpuplace.device.parsed_name import parse_name
from gpuplace.device.visible import DEVICE_ORDER, VISIBLE_DEVICES
from gpuplace.jupyter.explorer.parts import Parts
from gpuplace.jupyter.explorer.settings import CONFIG_PATHS, Settings
from gpuplace.views.tables.placement_view import PlacementView, view_of
from gpuplace.views.tables.scopes import ROOT, scope_tree

LOCAL = "/job:localhost/replica:0/task:0"


def settings_code(
    settings: Settings, parts: Parts | None = None, pins: Mapping[str, Any] | None = None
) -> str:
    """Return the program that creates a session with these settings (without its last newline).

    Args:
        settings: settings to write.
        parts: the parts of the graph that can be selected; the program selects a part if it is not the whole graph.
        pins: further keyword arguments for `gpuplace.place`.
    """
    lines = ["import os", "", "import gpuplace as tf", ""]
    for name in (DEVICE_ORDER, VISIBLE_DEVICES):
        if name in settings.environ:
            lines.append(
                f"os.environ[{_quoted(name)}] = {_quoted(settings.environ[name])}  # before the first session"
            )
        elif name == VISIBLE_DEVICES:
            lines.append(f"os.environ.pop({_quoted(name)}, None)")
    lines.append(f"tf.set_release({_quoted(settings.release)})")
    lines.append(f"tf.use_machine({_quoted(str(settings.machine))})")
    lines.append(f"config = {config_code(settings)}")
    options = {} if parts is None else {**parts.options(settings), **(pins or {})}
    path = parts.model.path if parts is not None and parts.model is not None else ""
    graph = _quoted(path) if path else "graph"
    if parts is not None and options:
        words = [graph, "config=config", *(f"{name}={_literal(value)}" for name, value in options.items())]
        note = "" if path else "  # graph: the explored graph"
        lines.append(f"placement = tf.place({', '.join(words)}){note}")
    if settings.fetches or settings.feeds:
        fetches = json.dumps(list(settings.fetches)) if settings.fetches else "None"
        step = [graph if not options else "placement", fetches, _literal(settings.feeds), "config=config"]
        lines.append(f"step = tf.estimate({', '.join(step)})")
    return "\n".join(lines)


def config_code(settings: Settings) -> str:
    """Return the ``ConfigProto`` as an expression; default values are left out."""
    groups: dict[str, list[str]] = {"": []}
    for name, path in CONFIG_PATHS.items():
        if value := getattr(settings, name):
            group, _, option = path.rpartition(".")
            groups.setdefault(group, []).append(f"{option}={_literal(value)}")
    parts = groups.pop("")
    parts += [f"{group}=tf.GPUOptions({', '.join(options)})" for group, options in groups.items()]
    return f"tf.ConfigProto({', '.join(parts)})"


def placement_code(placement: Any) -> str:
    """Return a device function for ``tf.device`` that requests every node's device of a placement."""
    scopes, nodes = device_rules(view_of(placement))
    rows = [("SCOPES", scopes), ("OPS", nodes)]
    tables = []
    for name, table in rows:
        if table:
            body = "".join(
                f"    {_quoted(key)}: {_quoted(_short(device))},\n" for key, device in table.items()
            )
            tables.append(f"{name} = {{\n{body}}}")
        else:
            tables.append(f"{name} = {{}}")
    return "\n".join(
        [
            "# Every op on its current device. Scope names end in a slash.",
            *tables,
            "",
            "",
            "def same_devices(op):",
            "    scope = op.name",
            "    while scope and f'{scope}/' not in SCOPES:",
            "        scope = scope.rpartition('/')[0]",
            "    return OPS.get(op.name) or SCOPES.get(f'{scope}/' if scope else '', op.device)",
            "",
            "",
            "# with tf.device(same_devices):",
            "#     ...  # build the graph here",
        ]
    )


def device_rules(view: PlacementView) -> tuple[dict[str, str], dict[str, str]]:
    """Return ``(scope path with slash -> device, node -> device)`` with the fewest rules.

    Inner rules override outer ones. The rule of a scope is the device of most of its nodes; other nodes get separate
    rules.
    """
    tree = scope_tree(view)
    shares = tree.shares(view.device, len(view.devices))
    chosen = np.full(len(tree), -1, dtype=np.int64)
    scopes: dict[str, str] = {}
    for scope in range(len(tree)):
        counts = shares[scope][: len(view.devices)]
        if not counts.any():
            continue
        above = -1 if scope == ROOT else int(chosen[tree.parent[scope]])
        best = int(counts.argmax())
        if above >= 0 and counts[above] == counts[best]:
            best = above
        chosen[scope] = best
        if best != above:
            scopes[f"{tree.paths[scope]}/" if scope != ROOT else ""] = view.devices[best]
    nodes = {
        view.names[node]: view.devices[view.device[node]]
        for node in np.flatnonzero((view.device >= 0) & (view.device != chosen[tree.scope_of])).tolist()
    }
    return scopes, nodes


def _short(device: str) -> str:
    """Return ``/device:GPU:2`` for a device of this process, the full name for others."""
    parsed = parse_name(device)
    return parsed.local_name if parsed is not None and device.startswith(f"{LOCAL}/") else device


def _literal(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_quoted(key)}: {_literal(item)}' for key, item in value.items())}}}"
    return _quoted(value) if isinstance(value, str) else str(value)


def _quoted(text: str) -> str:
    r"""Return a string literal in double quotation marks.

    >>> print(_quoted('a"b'))
    "a\"b"
    """
    return json.dumps(text, ensure_ascii=False) if text.isprintable() else repr(text)
