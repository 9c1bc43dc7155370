"""The options of a profile, parsed and checked; their listing, and the explanations of the output.

Source: tensorflow/core/profiler/tfprof_options.cc, internal/tfprof_utils.cc, internal/tfprof_constants.h and
python/profiler/model_analyzer.py, release 1.15 (names, defaults, output).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpuplace.errors import InvalidArgumentError

__all__ = ["COUNTS", "Options", "explanations", "is_any", "matches"]

COUNTS = (
    *("exec_micros", "accelerator_exec_micros", "cpu_exec_micros"),
    *("requested_bytes", "peak_bytes", "residual_bytes", "output_bytes"),
    *("parameters", "float_ops"),
)
"""The counts of nodes, by their names in messages."""

_LEAST = {
    "min_bytes": "requested_bytes",
    "min_peak_bytes": "peak_bytes",
    "min_residual_bytes": "residual_bytes",
    "min_output_bytes": "output_bytes",
    "min_micros": "exec_micros",
    "min_accelerator_micros": "accelerator_exec_micros",
    "min_cpu_micros": "cpu_exec_micros",
    "min_params": "parameters",
    "min_float_ops": "float_ops",
    "min_occurrence": "run_count",
}

_ORDERS = {
    "bytes": "requested_bytes",
    **{f"{name}_bytes": f"{name}_bytes" for name in ("peak", "residual", "output")},
    "micros": "exec_micros",
    "accelerator_micros": "accelerator_exec_micros",
    "cpu_micros": "cpu_exec_micros",
    "params": "parameters",
    "float_ops": "float_ops",
}

_LISTS = ("account_type", "start_name", "trim_name", "show_name", "hide_name")

_OUTPUTS = ("timeline", "stdout", "file", "pprof", "none")


def is_any(patterns: Sequence[str]) -> bool:
    """Return whether the only pattern is the one that matches every string.

    Args:
        patterns: regular expressions.
    """
    return list(patterns) == [".*"]


def matches(patterns: Sequence[str], text: str) -> bool:
    """Return whether a whole string matches one of the patterns.

    Args:
        patterns: regular expressions.
        text: the string.
    """
    return any(re.fullmatch(pattern, text) for pattern in patterns)


def _output(text: str) -> tuple[str, dict[str, str]]:
    """Return the kind of output and its settings.

    Raises:
        InvalidArgumentError: there is no such kind, or a setting is unknown or missing.
    """
    kind, colon, rest = text.partition(":")
    if not text:
        kind = "stdout"
    elif kind not in _OUTPUTS:
        raise InvalidArgumentError.of(
            f"E.g. Unknown output type: {kind}, Valid types: {','.join(sorted(_OUTPUTS))}\n"
        )
    needed = "" if kind in ("stdout", "none") else "outfile"
    settings = {}
    for one in filter(None, rest.split(",")):
        name, _, value = one.partition("=")
        if not name or not value:
            raise InvalidArgumentError.of("Visualize format: -output timeline:key=value,key=value,...")
        if name != needed:
            raise InvalidArgumentError.of(f"Unrecognized options {name} for output_type: {kind}\n")
        settings[name] = value
    if needed and needed not in settings:
        raise InvalidArgumentError.of(
            f"Missing required output_options for {kind}\nE.g. -output {kind}:{needed}=...\n"
        )
    return kind, settings


@dataclass(frozen=True)
class Options:
    """The contents of a profile."""

    max_depth: int
    least: dict[str, int]
    """Count -> its minimum; nodes with less are left out."""
    step: int
    """The step of the times; -1 for the mean of all."""
    order_by: str
    patterns: dict[str, tuple[str, ...]]
    """``account_type``, ``start_name``, ``trim_name``, ``show_name``, ``hide_name`` -> regular expressions."""
    account_displayed_op_only: bool
    select: frozenset[str]
    output: str
    """The kind of output."""
    output_settings: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Options:
        """Return the options in a dict.

        Args:
            values: the dict; missing options have defaults.

        Raises:
            InvalidArgumentError: there is no such output.
        """
        output, settings = _output(values.get("output", "stdout"))
        if values.get("dump_to_file"):
            output, settings = "file", {"outfile": values["dump_to_file"]}
            print(
                "-dump_to_file option is deprecated. Please use -output file:outfile=<filename>\n"
                f"-output {values.get('output', 'stdout')} is overwritten with -output"
                f" file:outfile={values['dump_to_file']}",
                file=sys.stderr,
            )
        return cls(
            max_depth=int(values.get("max_depth", 10)),
            least={count: int(values.get(name, 0)) for name, count in _LEAST.items()},
            step=int(values.get("step", -1)),
            order_by=values.get("order_by", "name"),
            patterns={name: tuple(values.get(f"{name}_regexes", ())) for name in _LISTS},
            account_displayed_op_only=bool(values.get("account_displayed_op_only", False)),
            select=frozenset(values.get("select", ())),
            output=output,
            output_settings=settings,
        )

    @property
    def order(self) -> str | None:
        """The count by whose sums to sort, in descending order; None to sort by name."""
        return _ORDERS.get(self.order_by)

    def __str__(self) -> str:
        """One line for each option, as printed above a profile."""
        settings = ",".join(f"{name}={value}" for name, value in sorted(self.output_settings.items()))
        listed = {
            "max_depth": self.max_depth,
            **{name: self.least[count] for name, count in _LEAST.items()},
            "step": self.step,
            "order_by": self.order_by,
            **{f"{name}_regexes": ",".join(self.patterns[name]) for name in _LISTS},
            "account_displayed_op_only": str(self.account_displayed_op_only).lower(),
            "select": ",".join(sorted(self.select)),
            "output": f"{self.output}:{settings}",
        }
        return "".join(f"{'-' + name:<28}{value}\n" for name, value in listed.items())


_VIEWS = {
    "scope": "scope: The nodes in the model graph are organized by their names, which is hierarchical like filesystem.",
    "code": "code: When python trace is available, the nodes are python lines and their are organized by the python "
    "call stack.",
    "op": "op: The nodes are operation kernel type, such as MatMul, Conv2D. Graph nodes belonging to the same type are "
    "aggregated together.",
}

_ON_ACCELERATORS = (
    "accelerator execution time: Time spent executing on the accelerator. This is normally measured by the actual "
    "hardware library."
)
_ON_CPUS = (
    "cpu execution time: The time from the start to the end of the operation. It's the sum of actual cpu run time plus "
    "the time that it spends waiting if part of computation is launched asynchronously."
)

_SELECTED = {
    "bytes": "requested bytes: The memory requested by the operation, accumulatively.",
    "peak_bytes": "peak bytes: The peak amount of memory that the operation is holding at some point.",
    "residual_bytes": "residual bytes: The memory not de-allocated after the operation finishes.",
    "output_bytes": "output bytes: The memory that is output from the operation (not necessarilty allocated by the "
    "operation)",
    "micros": "total execution time: Sum of accelerator execution time and cpu execution time.\n"
    f"{_ON_CPUS}\n{_ON_ACCELERATORS}",
    "accelerator_micros": _ON_ACCELERATORS,
    "cpu_micros": _ON_CPUS,
    "params": "param: Number of parameters (in the Variable).",
    "float_ops": "flops: Number of float operations. Note: Please read the implementation for the math behind it.",
    "tensor_value": "tensor_value: Not supported now.",
    "device": "device: which device is placed on.",
    "op_types": "op_types: The attributes of the operation, includes the Kernel name device placed on and user-defined "
    "strings.",
    "occurrence": "occurrence: The number of times it occurs",
    "input_shapes": "input shape: The shape of input tensors",
}


def explanations(view: str, select: frozenset[str]) -> str:
    """Return the introduction of a profile, which explains its view and its columns.

    Args:
        view: ``scope``, ``graph``, ``op`` or ``code``.
        select: the attributes that are shown.
    """
    columns = [_SELECTED.get(name, f"Unknown select: {name}") for name in sorted(select)]
    named = _VIEWS["scope" if view == "graph" else view]  # TensorFlow explains both in the same words
    return "\nDoc:\n{}\n{}\n\n".format(named, "\n".join(columns))
