"""``tf.profiler.ProfileOptionBuilder``: the options of a profile, as the dict that ``tf.profiler.profile`` takes.

>>> options = ProfileOptionBuilder(ProfileOptionBuilder.float_operation()).with_empty_output().build()
>>> options["select"], options["order_by"], options["output"]
(['float_ops'], 'float_ops', 'none')

Source: tensorflow/python/profiler/option_builder.py, release 1.15 (names, arguments, the entries of the dicts).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Self

__all__ = ["TRAINABLE_VARIABLES", "ProfileOptionBuilder"]

TRAINABLE_VARIABLES = "_trainable_variables"
"""An additional type of the operations of trainable variables."""

_ALL = {
    **dict.fromkeys(("min_bytes", "min_micros", "min_params", "min_float_ops", "min_occurrence"), 0),
    "order_by": "name",
    "account_type_regexes": [".*"],
    "start_name_regexes": [".*"],
    "trim_name_regexes": [],
    "show_name_regexes": [".*"],
    "hide_name_regexes": [],
    "step": -1,
    "output": "stdout",
}
"""Defaults of most options."""


def _options(**changes: Any) -> dict[str, Any]:
    return copy.deepcopy({"max_depth": 10000, **_ALL, "account_displayed_op_only": True, **changes})


class ProfileOptionBuilder:
    """Options of a profile, set step by step.

    Args:
        options: the initial options; None for all nodes with their times.
    """

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        self._options: dict[str, Any] = (
            _options(max_depth=100, account_displayed_op_only=False, select=["micros"])
            if options is None
            else copy.deepcopy(dict(options))
        )

    @staticmethod
    def trainable_variables_parameter() -> dict[str, Any]:
        """Return options for the sizes of trainable variables, by name scope.

        >>> ProfileOptionBuilder.trainable_variables_parameter()["account_type_regexes"]
        ['_trainable_variables']
        """
        return _options(account_type_regexes=[TRAINABLE_VARIABLES], select=["params"])

    @staticmethod
    def float_operation() -> dict[str, Any]:
        """Return options for registered floating-point operations.

        >>> ProfileOptionBuilder.float_operation()["min_float_ops"]
        1
        """
        return _options(min_float_ops=1, order_by="float_ops", select=["float_ops"])

    @staticmethod
    def time_and_memory(
        min_micros: int = 1,
        min_bytes: int = 1,
        min_accelerator_micros: int = 0,
        min_cpu_micros: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> dict[str, Any]:
        """Return options for times and bytes of steps.

        Args:
            min_micros: leave out nodes with a shorter time, on accelerators and CPUs.
            min_bytes: leave out nodes that requested less memory.
            min_accelerator_micros: leave out nodes with a shorter time on accelerators.
            min_cpu_micros: leave out nodes with a shorter time on CPUs.
            min_peak_bytes: leave out nodes with less memory in use at their peak.
            min_residual_bytes: leave out nodes with less memory in use at their end.
            min_output_bytes: leave out nodes with smaller outputs.
        """
        return _options(
            min_micros=min_micros,
            min_bytes=min_bytes,
            min_accelerator_micros=min_accelerator_micros,
            min_cpu_micros=min_cpu_micros,
            min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
            order_by="micros",
            select=["micros", "bytes"],
        )

    def build(self) -> dict[str, Any]:
        """Return a copy of the options."""
        return copy.deepcopy(self._options)

    def _with(self, **changes: Any) -> Self:
        self._options.update({name: copy.copy(value) for name, value in changes.items()})
        return self

    def with_max_depth(self, max_depth: int) -> Self:
        """Limit the number of levels of scopes, inputs or calls, or the number of op types.

        Args:
            max_depth: the number.
        """
        return self._with(max_depth=max_depth)

    def with_min_memory(
        self,
        min_bytes: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> Self:
        """Leave out nodes with fewer bytes.

        Args:
            min_bytes: requested bytes.
            min_peak_bytes: bytes in use at the peak.
            min_residual_bytes: bytes in use at the end.
            min_output_bytes: bytes of the outputs.
        """
        return self._with(
            min_bytes=min_bytes,
            min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
        )

    def with_min_execution_time(
        self, min_micros: int = 0, min_accelerator_micros: int = 0, min_cpu_micros: int = 0
    ) -> Self:
        """Leave out nodes with shorter times.

        Args:
            min_micros: time on accelerators and CPUs.
            min_accelerator_micros: time on accelerators.
            min_cpu_micros: time on CPUs.
        """
        return self._with(
            min_micros=min_micros,
            min_accelerator_micros=min_accelerator_micros,
            min_cpu_micros=min_cpu_micros,
        )

    def with_min_parameters(self, min_params: int) -> Self:
        """Leave out nodes with fewer parameters.

        Args:
            min_params: the number.
        """
        return self._with(min_params=min_params)

    def with_min_occurrence(self, min_occurrence: int) -> Self:
        """Leave out groups of fewer nodes, or nodes that ran less often.

        Args:
            min_occurrence: the number.
        """
        return self._with(min_occurrence=min_occurrence)

    def with_min_float_operations(self, min_float_ops: int) -> Self:
        """Leave out nodes with fewer floating-point operations.

        Args:
            min_float_ops: the number.
        """
        return self._with(min_float_ops=min_float_ops)

    def with_accounted_types(self, account_type_regexes: Sequence[str]) -> Self:
        """Count only nodes with one of these types: their op type, device, or a type from an op log.

        Args:
            account_type_regexes: patterns of types.
        """
        return self._with(account_type_regexes=account_type_regexes)

    def with_node_names(
        self,
        start_name_regexes: Sequence[str] | None = None,
        show_name_regexes: Sequence[str] | None = None,
        hide_name_regexes: Sequence[str] | None = None,
        trim_name_regexes: Sequence[str] | None = None,
    ) -> Self:
        """Select the nodes to show by their names; None leaves a setting unchanged.

        Args:
            start_name_regexes: patterns of nodes at which to start.
            show_name_regexes: patterns of nodes to show.
            hide_name_regexes: patterns of nodes to hide nevertheless.
            trim_name_regexes: patterns of nodes whose children are hidden.
        """
        patterns = {
            "start_name_regexes": start_name_regexes,
            "show_name_regexes": show_name_regexes,
            "hide_name_regexes": hide_name_regexes,
            "trim_name_regexes": trim_name_regexes,
        }
        return self._with(**{name: value for name, value in patterns.items() if value is not None})

    def account_displayed_op_only(self, is_true: bool) -> Self:
        """Set whether sums count only the nodes that are shown.

        Args:
            is_true: whether they do.
        """
        return self._with(account_displayed_op_only=is_true)

    def with_empty_output(self) -> Self:
        """Print nothing."""
        return self._with(output="none")

    def with_stdout_output(self) -> Self:
        """Print the result."""
        return self._with(output="stdout")

    def with_file_output(self, outfile: str) -> Self:
        """Write the result into a file.

        Args:
            outfile: the file's path.
        """
        return self._with(output=f"file:outfile={outfile}")

    def with_timeline_output(self, timeline_file: str) -> Self:
        """Write a timeline as a Chrome trace.

        Args:
            timeline_file: the file's path, to which the step's number is appended.
        """
        return self._with(output=f"timeline:outfile={timeline_file}")

    def with_pprof_output(self, pprof_file: str) -> Self:
        """Write a profile for pprof, which ``tf.profiler.profile`` does not support here.

        Args:
            pprof_file: the file's path.
        """
        return self._with(output=f"pprof:outfile={pprof_file}")

    def order_by(self, attribute: str) -> Self:
        """Set the attribute to sort by.

        Args:
            attribute: ``name``, ``micros``, ``bytes``, ``params``, ``float_ops`` ...
        """
        return self._with(order_by=attribute)

    def select(self, attributes: Sequence[str]) -> Self:
        """Set the attributes to show for each node.

        Args:
            attributes: names such as ``params``, ``float_ops``, ``micros``, ``bytes``, ``device``,
                ``op_types``.
        """
        return self._with(select=attributes)

    def with_step(self, step: int) -> Self:
        """Set the step of times and bytes.

        Args:
            step: the number given to ``Profiler.add_step``; -1 for the mean of all.
        """
        return self._with(step=step)
