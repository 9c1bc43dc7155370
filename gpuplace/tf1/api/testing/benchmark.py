"""``tf.test.Benchmark``: time ops and steps; runs with ``--benchmarks=PATTERN`` in place of the tests.

>>> class Sums(Benchmark):
...     def benchmark_ones(self):
...         self.report_benchmark(name="ones", iters=3, wall_time=0.5)
>>> Sums().benchmark_ones()
entry {
  name: "Sums.ones"
  iters: 3
  wall_time: 0.5
}
<BLANKLINE>

Source: tensorflow/python/platform/benchmark.py, release 1.15 (names, arguments, results).
"""

from __future__ import annotations

import inspect
import json
import re
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from gpuplace.graph.stacks import get_default_session
from gpuplace.graphdef.messages import ConfigProto

__all__ = ["Benchmark", "benchmark_config"]

_known: list[type[Benchmark]] = []
"""Benchmark classes, in definition order."""


def benchmark_config() -> ConfigProto:
    """Return session options that run the graph as it was built, without optimizations."""
    config = ConfigProto()
    config.graph_options.optimizer_options.opt_level = -1
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


class Benchmark:
    """A group of benchmarks: its methods whose names begin with ``benchmark``."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _known.append(cls)

    @classmethod
    def is_abstract(cls) -> bool:
        """Return whether the class has no method whose name begins with ``benchmark``."""
        return not any(name.startswith("benchmark") for name in dir(cls))

    def report_benchmark(
        self,
        iters: int | None = None,
        cpu_time: float | None = None,
        wall_time: float | None = None,
        throughput: float | None = None,
        extras: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        """Print a measurement in the format of TensorFlow's ``BenchmarkEntries``.

        Args:
            iters: number of runs; None, here and below: omitted.
            cpu_time: CPU time of a run in seconds.
            wall_time: wall time of a run in seconds.
            throughput: megabytes per second.
            extras: further results, name -> text or number.
            name: name of the measurement; None: the calling method.
        """
        if name is None:
            callers = (frame.function for frame in inspect.stack()[1:])
            name = next((caller for caller in callers if caller.startswith("benchmark")), "benchmark")
        values = {"iters": iters, "cpu_time": cpu_time, "wall_time": wall_time, "throughput": throughput}
        lines = ["entry {", f"  name: {json.dumps(f'{type(self).__name__}.{name}')}"]
        lines += [f"  {label}: {value}" for label, value in values.items() if value is not None]
        for key, value in (extras or {}).items():
            kind = (
                f"string_value: {json.dumps(value)}" if isinstance(value, str) else f"double_value: {value}"
            )
            lines += [
                "  extras {",
                f"    key: {json.dumps(key)}",
                "    value {",
                f"      {kind}",
                "    }",
                "  }",
            ]
        print("\n".join([*lines, "}", ""]))

    def run_op_benchmark(
        self,
        sess: Any,
        op_or_tensor: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        burn_iters: int = 2,
        min_iters: int = 10,
        store_trace: bool = False,
        store_memory_usage: bool = True,
        name: str | None = None,
        extras: Mapping[str, Any] | None = None,
        mbs: float = 0,
    ) -> dict[str, Any]:
        """Run an op repeatedly in a session, and report its median time.

        Args:
            sess: the session.
            op_or_tensor: the op or tensor to run; a tensor's value is not fetched.
            feed_dict: values of placeholders.
            burn_iters: number of warm-up runs.
            min_iters: number of measured runs.
            store_trace: ignored; ``tf.estimate`` and ``RunMetadata`` report where the time goes.
            store_memory_usage: ignored, likewise.
            name: name of the measurement; None: the calling method.
            extras: further results.
            mbs: megabytes that a run moves, for the throughput.

        Returns:
            ``iters``, ``wall_time`` in seconds, ``extras``, ``name`` and ``throughput``.
        """
        target = getattr(op_or_tensor, "op", op_or_tensor)
        for _ in range(burn_iters):
            sess.run(target, feed_dict=feed_dict)
        times = []
        for _ in range(min_iters):
            start = time.perf_counter()
            sess.run(target, feed_dict=feed_dict)
            times.append(time.perf_counter() - start)
        median = statistics.median(times) if times else -1.0
        stats = dict(extras or {})
        if times:
            stats |= {"wall_time_mean": statistics.fmean(times), "wall_time_stdev": statistics.pstdev(times)}
        result: dict[str, Any] = {
            "iters": min_iters,
            "wall_time": median,
            "extras": stats,
            "name": name,
            "throughput": mbs / median if median > 0 else 0.0,
        }
        self.report_benchmark(**result)
        return result

    def evaluate(self, tensors: Any) -> Any:
        """Return the values of tensors in the default session.

        Args:
            tensors: tensors, or a structure of them.

        Raises:
            ValueError: there is no default session.
        """
        session = get_default_session()
        if session is None:
            raise ValueError("Cannot evaluate without a default session: use `with tf.Session():`")
        return session.run(tensors)


def benchmark_pattern(argv: Sequence[str]) -> str | None:
    """Return the pattern of ``--benchmarks`` in a command line; None to run the tests.

    >>> benchmark_pattern(["test.py", "--benchmarks=all"])
    'all'

    Args:
        argv: the command line.
    """
    for argument in argv[1:]:
        match = re.fullmatch(r"--?benchmarks(?:=(.*))?", argument)
        if match:
            return match[1] or "all"
    return None


def run_benchmarks(pattern: str) -> None:
    """Run all benchmarks whose name, ``Class.method``, matches a pattern.

    Args:
        pattern: a regular expression; ``all`` or ``.`` for all benchmarks.

    Raises:
        SystemExit: no benchmark matches; status 1.
    """
    everything = re.compile("" if pattern == "all" else pattern)
    ran = 0
    for kind in _known:
        for name in sorted(dir(kind)):
            if name.startswith("benchmark") and everything.search(f"{kind.__name__}.{name}"):
                getattr(kind(), name)()
                ran += 1
    if not ran:
        print(f"No benchmarks matched the pattern: '{pattern}'", file=sys.stderr)
        raise SystemExit(1)
