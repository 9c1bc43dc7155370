"""``tf.test.Benchmark``: how long an op or a step takes, run with ``--benchmarks=PATTERN`` in place of the tests.

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
"""Classes of benchmarks, in the order in which they were made."""


def benchmark_config() -> ConfigProto:
    """Options of a session whose graph runs as it was built, without what optimisers make of it."""
    config = ConfigProto()
    config.graph_options.optimizer_options.opt_level = -1
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


class Benchmark:
    """Benchmarks: the methods whose names begin with ``benchmark``."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _known.append(cls)

    @classmethod
    def is_abstract(cls) -> bool:
        """Whether a class has no method that begins with ``benchmark``."""
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
        """Prints what was measured, in the form of TensorFlow's ``BenchmarkEntries``.

        Args:
            iters: how often it ran; None, here and below: not said.
            cpu_time: seconds of a run, on the processor.
            wall_time: seconds of a run.
            throughput: megabytes a second.
            extras: name to text or number of what else there is to say.
            name: what was measured; None: the method that calls.
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
        """Runs an op in a session again and again, and reports its median time.

        Args:
            sess: the session.
            op_or_tensor: what is run; what a tensor holds is not fetched.
            feed_dict: values of placeholders.
            burn_iters: runs before those that are measured.
            min_iters: runs that are measured.
            store_trace: ignored; ``tf.estimate`` and ``RunMetadata`` say where the time goes.
            store_memory_usage: ignored, likewise.
            name: what was measured; None: the method that calls.
            extras: what else there is to say.
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
        said = dict(extras or {})
        if times:
            said |= {"wall_time_mean": statistics.fmean(times), "wall_time_stdev": statistics.pstdev(times)}
        result: dict[str, Any] = {
            "iters": min_iters,
            "wall_time": median,
            "extras": said,
            "name": name,
            "throughput": mbs / median if median > 0 else 0.0,
        }
        self.report_benchmark(**result)
        return result

    def evaluate(self, tensors: Any) -> Any:
        """What tensors hold, in the default session.

        Args:
            tensors: tensors, or a structure of them.

        Raises:
            ValueError: there is no default session.
        """
        session = get_default_session()
        if session is None:
            raise ValueError("Cannot evaluate without a default session: use `with tf.Session():`")
        return session.run(tensors)


def asked_for(argv: Sequence[str]) -> str | None:
    """The pattern of ``--benchmarks`` in a command line; None where the tests are to run.

    >>> asked_for(["test.py", "--benchmarks=all"])
    'all'

    Args:
        argv: the command line.
    """
    for argument in argv[1:]:
        found = re.fullmatch(r"--?benchmarks(?:=(.*))?", argument)
        if found:
            return found[1] or "all"
    return None


def run_benchmarks(pattern: str) -> None:
    """Runs all benchmarks whose name, ``Class.method``, a pattern is found in.

    Args:
        pattern: a regular expression; ``all`` or ``.``: all of them.

    Raises:
        SystemExit: with 1 where there is none.
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
