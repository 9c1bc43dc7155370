"""``tf.data.Options``: how a pipeline is run.

Source: tensorflow/python/data/util/options.py, ops/dataset_ops.py and experimental/ops/*_options.py, release 1.15
(names, which rewriting is on, sentences).
"""

from __future__ import annotations

from typing import Any

from gpuplace.release import rules

__all__ = ["DistributeOptions", "MapVectorizationOptions", "OptimizationOptions", "Options", "StatsOptions"]
__all__ += ["ThreadingOptions"]


class _Options:
    """Named values of given types, all of which are None, or options themselves, at first."""

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
        """These options and others that do not say otherwise."""
        made = type(self)()
        values = made.__dict__["_values"]
        for name in self._types:
            mine, theirs = getattr(self, name), getattr(other, name)
            if isinstance(mine, _Options):
                values[name] = mine._merged(theirs)
            elif mine is None or theirs is None or mine == theirs:
                values[name] = theirs if mine is None else mine
            else:
                raise ValueError(
                    f"Cannot merge incompatible values {mine!r} and {theirs!r} of option: {name}"
                )
        return made


class MapVectorizationOptions(_Options):
    """How maps are rewritten to take whole batches; here they never are.

    Attributes:
        enabled: whether they are.
        use_choose_fastest: whether both ways are tried.
    """

    _types = {"enabled": bool, "use_choose_fastest": bool}


_REWRITINGS = (
    *("filter_fusion", "filter_with_random_uniform_fusion", "hoist_random_uniform", "map_and_batch_fusion"),
    *("map_and_filter_fusion", "map_fusion", "map_parallelization", "noop_elimination", "parallel_batch"),
    "shuffle_and_repeat_fusion",
)
_BY_DEFAULT = ("map_and_batch_fusion", "noop_elimination", "shuffle_and_repeat_fusion")


class OptimizationOptions(_Options):
    """Which rewriting of a pipeline is on; ``shuffle_and_repeat_fusion`` decides in which order a shuffle repeats.

    Attributes:
        apply_default_optimizations: whether what is on by default is on.
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
        found = {name for name in _REWRITINGS if getattr(self, name)}
        if self.apply_default_optimizations is not False:
            found.update(name for name in _BY_DEFAULT if getattr(self, name) is not False)
        if rules() == "2.21" and not self.shuffle_and_repeat_fusion:
            found.discard("shuffle_and_repeat_fusion")
        if self.map_vectorization.enabled:
            found.add("map_vectorization")
        if self.autotune is not False and self.autotune_buffers:
            found.add("inject_prefetch")
        return sorted(found)


class ThreadingOptions(_Options):
    """How many threads a pipeline has.

    Attributes:
        max_intra_op_parallelism: most threads of one op.
        private_threadpool_size: threads of its own.
    """

    _types = {"max_intra_op_parallelism": int, "private_threadpool_size": int}


class StatsOptions(_Options):
    """What is measured of a pipeline; here nothing is.

    Attributes:
        aggregator: what would collect it.
        prefix: what its names begin with.
    """

    _types = {"aggregator": object, "prefix": str, "counter_prefix": str, "latency_all_edges": bool}


class DistributeOptions(_Options):
    """How a pipeline is divided among workers.

    Attributes:
        auto_shard: whether it is.
        num_devices: devices that take from it.
    """

    _types = {"auto_shard": bool, "_make_stateless": bool, "num_devices": int}


class Options(_Options):
    """How a pipeline is run; ``dataset.with_options(options)`` says it.

    Attributes:
        experimental_deterministic: whether elements come in the same order at every run; here they always do.
        experimental_distribute: ``DistributeOptions``.
        experimental_optimization: ``OptimizationOptions``.
        experimental_slack: whether the last prefetch leaves the device time.
        experimental_stats: ``StatsOptions``.
        experimental_threading: ``ThreadingOptions``.
        experimental_stateful_whitelist: ops whose state may be lost.
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
        """These options and others.

        Args:
            options: options that leave open, or say alike, what these say.

        Returns:
            New options.

        Raises:
            ValueError: the two say different things.
        """
        merged: Options = self._merged(options)
        return merged

    def static_optimizations(self) -> list[str]:
        """The names of the rewritings that are on."""
        found: list[str] = self.experimental_optimization._names()
        if self.experimental_deterministic is False:
            found.append("make_sloppy")
        if self.experimental_stats.latency_all_edges:
            found.append("latency_all_edges")
        if self.experimental_slack:
            found.append("slack")
        if self.experimental_distribute._make_stateless:
            found.append("make_stateless")
        return found

    def static_optimization_configs(self) -> list[str]:
        """Their settings, as TensorFlow writes them."""
        fastest = self.experimental_optimization.map_vectorization.use_choose_fastest
        found = [f"map_vectorization:use_choose_fastest:{'true' if fastest else 'false'}"]
        if self.experimental_slack:
            found.append(f"slack:slack_period:{self.experimental_distribute.num_devices or 1}")
        return found
