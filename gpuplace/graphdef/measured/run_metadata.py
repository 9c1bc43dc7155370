"""Read measured steps from files: ``RunMetadata``, ``StepStats``, Chrome traces and profiles of TensorFlow 2.

>>> import tempfile
>>> step = RunMetadata()
>>> _ = step.step_stats.dev_stats.add(device="/cpu:0").node_stats.add(node_name="a", all_end_rel_micros=3)
>>> with tempfile.NamedTemporaryFile(suffix=".pb") as file:
...     _ = file.write(step.step_stats.SerializeToString())
...     file.flush()
...     load_run_metadata(file.name) == step
True
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gpuplace.errors import DataLossError, InvalidArgumentError, NotFoundError
from gpuplace.graphdef.event_file import is_event_file, step_in_events
from gpuplace.graphdef.file_kinds import kind_of
from gpuplace.graphdef.load import read_file
from gpuplace.graphdef.measured.chrome_trace import step_of_trace
from gpuplace.graphdef.measured.profile import step_of_profile
from gpuplace.graphdef.messages import DecodeError, RunMetadata, StepStats, text_format

PROFILE = ".xplane.pb"
"""Suffix of profiles."""
_SHOWN = 5
_TEXT = (".pbtxt", ".txt", ".prototxt", ".textproto")
_HINT = (
    "write what a step filled in: session.run(..., options=RunOptions(trace_level=RunOptions.FULL_TRACE), "
    "run_metadata=metadata), then open('step.pb', 'wb').write(metadata.SerializeToString())"
)


def load_run_metadata(path: str | os.PathLike[str]) -> RunMetadata:
    """Return the ``RunMetadata`` of a file; a ``StepStats`` becomes its ``step_stats``.

    Args:
        path: a binary or text message (text: ``.pbtxt``, ``.txt``, ``.textproto``) or a Chrome trace (``.json``), also
            gzipped (``.gz``); a TensorBoard event file, whose last step is read; a profile (``.xplane.pb``,
            ``.trace.json.gz``), or a log folder, whose newest profile is read.

    Raises:
        NotFoundError, PermissionDeniedError, FailedPreconditionError: the file cannot be read.
        DataLossError: the file contains neither message.
        InvalidArgumentError: the file contains no measurements.
    """
    path = newest_profile(Path(path)) if os.path.isdir(path) else path
    data, name, _ = read_file(Path(path))
    if name.lower().endswith(PROFILE):
        return _profiled(path, data)
    if name.endswith(".json"):
        return _traced(path, data)
    other = kind_of(path, data)
    if other is not None:
        raise DataLossError.of(
            f"{path} is {other.what}, not a measured step", hint=f"{other.advice}; or {_HINT}"
        )
    if is_event_file(data):
        return step_in_events(data, path)
    because = []
    for kind in (RunMetadata, StepStats):
        message: Any = kind()
        try:
            if name.endswith(_TEXT):
                text_format.Parse(data.decode(), message)
            else:
                message.ParseFromString(data)
        except (DecodeError, UnicodeDecodeError, RecursionError, text_format.ParseError) as error:
            because.append(f"{kind.DESCRIPTOR.name}: {str(error)[:200]}")
            continue
        metadata = message if kind is RunMetadata else RunMetadata(step_stats=message)
        if metadata.step_stats.dev_stats:
            return metadata
    if len(because) == 2:
        raise DataLossError.of(
            f"Can't parse {path} as RunMetadata or StepStats",
            facts={"because": "; ".join(because), "size": f"{len(data)} bytes"},
            hint=_HINT,
        )
    raise _empty(path, data)


def _traced(path: str | os.PathLike[str], data: bytes) -> Any:
    """Return the ``RunMetadata`` of a Chrome trace."""
    try:
        step = step_of_trace(data.decode())
    except ValueError as error:
        raise DataLossError.of(
            f"Can't parse {path} as the Chrome trace of a step",
            facts={"because": str(error)[:200], "size": f"{len(data)} bytes"},
            hint="write the result of timeline.Timeline(metadata.step_stats).generate_chrome_trace_format(), or "
            "the metadata itself as .pb",
        ) from None
    if not step.dev_stats:
        raise _empty(path, data)
    return RunMetadata(step_stats=step)


def _profiled(path: str | os.PathLike[str], data: bytes) -> Any:
    """Return the ``RunMetadata`` of a profile."""
    try:
        step = step_of_profile(data)
    except DecodeError as error:
        raise DataLossError.of(
            f"Can't parse {path} as a profile (XSpace)",
            facts={"because": str(error)[:200], "size": f"{len(data)} bytes"},
            hint="pass the profiler's file unchanged: logs/plugins/profile/<run>/<host>.xplane.pb",
        ) from None
    if not step.dev_stats:
        raise InvalidArgumentError.of(
            f"{path} contains no TensorFlow op",
            facts={"size": f"{len(data)} bytes"},
            hint="profile a step that runs ops, between tf.profiler.experimental.start(folder) and stop(); "
            "programs of "
            "JAX and steps on TPUs have none",
        )
    return RunMetadata(step_stats=step)


def newest_profile(folder: Path) -> Path:
    """Return the newest profile of a TensorBoard log folder, or of a folder in one.

    Raises:
        NotFoundError: the folder contains no profile.
        InvalidArgumentError: several hosts were profiled, each with its own file.
    """
    found = sorted(folder.glob(f"**/*{PROFILE}"), key=lambda path: (path.parent.name, path.name))
    if not found:
        raise NotFoundError.of(f"{folder} contains no profile (*{PROFILE})", hint=_HINT)
    hosts = [path for path in found if path.parent == found[-1].parent]
    if len(hosts) > 1:
        raise InvalidArgumentError.of(
            f"{hosts[0].parent} contains the profiles of {len(hosts)} hosts",
            hint=f"pass one of them: {', '.join(path.name for path in hosts[:_SHOWN])}",
        )
    return found[-1]


def _empty(path: str | os.PathLike[str], data: bytes) -> InvalidArgumentError:
    return InvalidArgumentError.of(
        f"{path} contains no step_stats: nothing was measured",
        facts={"size": f"{len(data)} bytes"},
        hint=_HINT,
    )
