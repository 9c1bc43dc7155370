"""``tf.data.Options``: options for running a pipeline.

Source: tensorflow/python/data/util/options.py, ops/dataset_ops.py and experimental/ops/*_options.py, release 1.15
(names, which optimizations are on, messages).
"""

from __future__ import annotations

from typing import Any

from gpuplace.release import rules

__all__ = ["DistributeOptions", "MapVectorizationOptions", "OptimizationOptions", "Options", "StatsOptions"]
__all__ += ["ThreadingOptions"]


class _Options:
    """Named values with given types; initially None, or nested options."""

    _types: dict[str, type] = {}

    def __init__(self) -> None:
        values = {name: kind() if issubclass(kind, _Options) else None for name, kind in self._types.items()}
        object.__setattr__(self, "_values", values)

    def __getattr__(self, name: str) -> Any:
        if name in type(self)._types:
            return self.__dict__["_values"][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        kind = type(self)._types.get(name)
        if kind is None:
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        if not isinstance(value, kind):
            raise TypeError(
                f"Property {name!r} must be of type {kind!r}, got: {value!r} (type: {type(value)!r})"
            )
        self.__dict__["_values"][name] = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return bool(self.__dict__["_values"] == other.__dict__["_values"])

    def __hash__(self) -> int:
        return id(self)

    def _merged(self, other: Any) -> Any:
        """Merge these options with others that do not conflict."""
        merged = type(self)()
        values = merged.__dict__["_values"]
        for name in self._types:
            own, their_value = getattr(self, name), getattr(other, name)
            if isinstance(own, _Options):
                values[name] = own._merged(their_value)
            elif own is None or their_value is None or own == their_value:
                values[name] = their_value if own is None else own
            else:
                raise ValueError(
                    f"Cannot merge incompatible values {own!r} and {their_value!r} of option: {name}"
                )
        return merged


class MapVectorizationOptions(_Options):
    """Options for map vectorization, which never happens here.

    Attributes:
        enabled: whether it is on.
        use_choose_fastest: whether to try both versions.
    """

    _types = {"enabled": bool, "use_choose_fastest": bool}


_REWRITINGS = (
    *("filter_fusion", "filter_with_random_uniform_fusion", "hoist_random_uniform", "map_and_batch_fusion"),
    *("map_and_filter_fusion", "map_fusion", "map_parallelization", "noop_elimination", "parallel_batch"),
    "shuffle_and_repeat_fusion",
)
_BY_DEFAULT = ("map_and_batch_fusion", "noop_elimination", "shuffle_and_repeat_fusion")


class OptimizationOptions(_Options):
    """Optimizations of a pipeline; ``shuffle_and_repeat_fusion`` changes the order of a repeated shuffle.

    Attributes:
        apply_default_optimizations: whether the default optimizations are on.
        autotune: whether TensorFlow would tune the pipeline.
    """

    _types = {
        "apply_default_optimizations": bool,
        "autotune": bool,
        "autotune_algorithm": int,
        "autotune_buffers": bool,
        "autotune_cpu_budget": int,
        **dict.fromkeys(_REWRITINGS, bool),
        "map_vectorization": MapVectorizationOptions,
    }

    def _names(self) -> list[str]:
        enabled = {name for name in _REWRITINGS if getattr(self, name)}
        if self.apply_default_optimizations is not False:
            enabled.update(name for name in _BY_DEFAULT if getattr(self, name) is not False)
        if rules() == "2.21" and not self.shuffle_and_repeat_fusion:
            enabled.discard("shuffle_and_repeat_fusion")
        if self.map_vectorization.enabled:
            enabled.add("map_vectorization")
        if self.autotune is not False and self.autotune_buffers:
            enabled.add("inject_prefetch")
        return sorted(enabled)


class ThreadingOptions(_Options):
    """Thread options of a pipeline.

    Attributes:
        max_intra_op_parallelism: maximum number of threads of one op.
        private_threadpool_size: number of private threads.
    """

    _types = {"max_intra_op_parallelism": int, "private_threadpool_size": int}


class StatsOptions(_Options):
    """Statistics options of a pipeline; here no statistics are collected.

    Attributes:
        aggregator: the collector.
        prefix: prefix of the names.
    """

    _types = {"aggregator": object, "prefix": str, "counter_prefix": str, "latency_all_edges": bool}


class DistributeOptions(_Options):
    """Distribution of a pipeline among workers.

    Attributes:
        auto_shard: whether to shard the pipeline.
        num_devices: number of devices that consume it.
    """

    _types = {"auto_shard": bool, "_make_stateless": bool, "num_devices": int}


class Options(_Options):
    """Options of a pipeline; set them with ``dataset.with_options(options)``.

    Attributes:
        experimental_deterministic: whether elements have the same order in every run; here they always do.
        experimental_distribute: ``DistributeOptions``.
        experimental_optimization: ``OptimizationOptions``.
        experimental_slack: whether the last prefetch leaves slack for the device.
        experimental_stats: ``StatsOptions``.
        experimental_threading: ``ThreadingOptions``.
        experimental_stateful_whitelist: stateful ops that are allowed anyway.
    """

    _types = {
        "experimental_deterministic": bool,
        "experimental_distribute": DistributeOptions,
        "experimental_optimization": OptimizationOptions,
        "experimental_slack": bool,
        "experimental_stats": StatsOptions,
        "experimental_threading": ThreadingOptions,
        "experimental_stateful_whitelist": list,
    }

    def merge(self, options: Options) -> Options:
        """Merge these options with others.

        Args:
            options: the other options.

        Returns:
            New options.

        Raises:
            ValueError: the options conflict.
        """
        merged: Options = self._merged(options)
        return merged

    def static_optimizations(self) -> list[str]:
        """Return the names of the active optimizations."""
        names: list[str] = self.experimental_optimization._names()
        if self.experimental_deterministic is False:
            names.append("make_sloppy")
        if self.experimental_stats.latency_all_edges:
            names.append("latency_all_edges")
        if self.experimental_slack:
            names.append("slack")
        if self.experimental_distribute._make_stateless:
            names.append("make_stateless")
        return names

    def static_optimization_configs(self) -> list[str]:
        """Return the settings of the optimizations, in TensorFlow's format."""
        fastest = self.experimental_optimization.map_vectorization.use_choose_fastest
        configs = [f"map_vectorization:use_choose_fastest:{'true' if fastest else 'false'}"]
        if self.experimental_slack:
            configs.append(f"slack:slack_period:{self.experimental_distribute.num_devices or 1}")
        return configs
