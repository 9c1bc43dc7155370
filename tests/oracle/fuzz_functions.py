"""Random graphs with functions, placed by TensorFlow's own placer and by gpuplace.

    python -m tests.oracle.fuzz_functions --count 20000 --seed 1
    python -m tests.oracle.fuzz_functions --release 1.15 --python PYTHON3.7_WITH_TENSORFLOW_1.15.5

needs what `fuzz` needs. Compared are the nodes that both placers see, added ones included, in their order, and their
devices. Where TensorFlow's answer follows from the addresses of nodes, any order will do; such graphs are counted.
Prints each disagreement as a shrunk GraphDef, and the totals; exits with 1 if there was any.
"""

from __future__ import annotations

import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from gpuplace.device.device_set import DeviceAttributes, DeviceSet
from gpuplace.errors import OpError
from gpuplace.graphdef.messages import ConfigProto
from gpuplace.placer import bindings, calls
from gpuplace.runtime.session.place import place
from tests.oracle.fuzz import comparable, fuzz_options, oracle_of
from tests.oracle.random_functions import random_functions
from tests.support.random_graphs import usable_ops


def ours(message: Any, devices: Sequence[str], config: Any, rules: str) -> Any:
    """What gpuplace says, in the oracle's form: 1.15's tells the order of decisions, 2.21's the order of nodes."""
    device_set = DeviceSet([DeviceAttributes(name) for name in devices])
    try:
        placement = place(message, device_set, config, release=rules)
    except OpError as error:
        return type(error).__name__, error.message
    names = list(placement)
    if rules == "1.15":
        names = [names[i] for i in placement.decisions.visiting_order(placement.graph)]
    return {name: placement[name] for name in names}


_ORDERS_TRIED = 500
_MOST_IN_ARRAY = 8
"""Edges of a node that TensorFlow keeps in order; more are in a hash set."""


def in_another_order(message: Any, devices: Sequence[str], config: Any, rules: str, theirs: Any) -> bool:
    """Whether gpuplace gives TensorFlow's answer with some order of what TensorFlow has in hash sets of addresses.

    These are three or more calls that it looks into, where two may share a bucket, and nine or more readers of a call.
    """
    usual = bindings.calls_of
    rng = random.Random(0)
    varies = False

    def shuffled(*arguments: Any) -> list[calls.Call]:
        nonlocal varies
        found = usual(*arguments)
        varies |= len(found) > 2 or any(len(call.readers) > _MOST_IN_ARRAY for call in found)
        if len(found) > 2:
            rng.shuffle(found)
        return [
            replace(call, readers=tuple(rng.sample(call.readers, len(call.readers))))
            if len(call.readers) > _MOST_IN_ARRAY
            else call
            for call in found
        ]

    bindings.calls_of = shuffled
    try:
        for _ in range(_ORDERS_TRIED):
            if in_order(ours(message, devices, config, rules)) == theirs:
                return varies
            if not varies:
                return False
    finally:
        bindings.calls_of = usual
    return False


def in_order(answer: Any) -> Any:
    """A comparable answer that keeps the order of the nodes."""
    answer = comparable(answer)
    return list(answer.items()) if isinstance(answer, dict) else answer


def users(nodes: Any) -> set[str]:
    """Names of the nodes that others need."""
    return {text.lstrip("^").split(":")[0] for node in nodes for text in node.input}


def smaller(message: Any, disagrees: Callable[[Any], bool]) -> Any:
    """A simpler graph with the same kind of disagreement."""

    def attempt(change: Callable[[Any], bool]) -> bool:
        nonlocal message
        candidate = type(message)()
        candidate.CopyFrom(message)
        if not change(candidate) or not disagrees(candidate):
            return False
        message = candidate
        return True

    def nodes_of(graph: Any, body: int) -> Any:
        return graph.node if body < 0 else graph.library.function[body].node_def

    def drop_function(graph: Any, body: int) -> bool:
        name = graph.library.function[body].signature.name
        del graph.library.function[body]
        nodes = [*graph.node, *(node for function in graph.library.function for node in function.node_def)]
        used = {node.op for node in nodes} | {
            reference.name
            for node in nodes
            for value in node.attr.values()
            for reference in (value.func, *value.list.func)
        }
        return name not in used

    def drop(graph: Any, body: int, at: int) -> bool:
        nodes = nodes_of(graph, body)
        name = nodes[at].name
        needed = users(nodes)
        if body >= 0:
            function = graph.library.function[body]
            needed |= {text.split(":")[0] for text in function.ret.values()}
            for key in [key for key, node in function.control_ret.items() if node == name]:
                del function.control_ret[key]
                function.signature.control_output.remove(key)
        if name in needed:
            return False
        del nodes[at]
        return True

    def plain(graph: Any, body: int, at: int, what: str) -> bool:
        node = nodes_of(graph, body)[at]
        if what == "device":
            changed, node.device = bool(node.device), ""
            return changed
        if what == "controls":
            data = [text for text in node.input if not text.startswith("^")]
            changed = len(data) < len(node.input)
            del node.input[:]
            node.input.extend(data)
            return changed
        if what not in node.attr:
            return False
        del node.attr[what]
        return True

    changed = True
    while changed:
        changed = False
        for body in reversed(range(-1, len(message.library.function))):
            if body >= 0 and attempt(lambda graph, body=body: drop_function(graph, body)):
                changed = True
                continue
            for at in reversed(range(len(nodes_of(message, body)))):
                changed |= attempt(lambda graph, body=body, at=at: drop(graph, body, at))
            for at in range(len(nodes_of(message, body))):
                for what in ("_class", "device", "controls", "_xla_compile_id", "_XlaMustCompile"):
                    changed |= attempt(
                        lambda graph, body=body, at=at, what=what: plain(graph, body, at, what)
                    )
    return message


def shown(message: Any) -> str:
    """A graph in a few lines."""
    lines = []

    def line(node: Any) -> str:
        attrs = {
            name: str(value).replace("\n", " ").strip()
            for name, value in sorted(node.attr.items())
            if name not in ("value", "shape", "shared_name", "container")
        }
        return f"  {node.name} = {node.op}({', '.join(node.input)}) {node.device} {attrs}"

    for function in message.library.function:
        signature = function.signature
        inputs = [f"{arg.name}: {arg.type}" for arg in signature.input_arg]
        lines.append(
            f"{signature.name}({', '.join(inputs)}) -> {dict(function.ret)} {list(function.control_ret.values())}"
        )
        lines += [line(node) for node in function.node_def]
    lines += ["graph", *(line(node) for node in message.node)]
    return "\n".join(lines)


def difference(theirs: Any, mine: Any) -> str:
    """What differs, in a few lines."""
    if not isinstance(theirs, list) or not isinstance(mine, list):
        return f"theirs {theirs}\nours   {mine}"
    left, right = dict(theirs), dict(mine)
    lines = [
        f"  {k}: theirs {left.get(k)}, ours {right.get(k)}"
        for k in left | right
        if left.get(k) != right.get(k)
    ]
    if not lines:
        at = next(i for i, (a, b) in enumerate(zip(theirs, mine, strict=True)) if a != b)
        lines = [
            f"  order: theirs {[n for n, _ in theirs[at : at + 4]]}",
            f"  ours {[n for n, _ in mine[at : at + 4]]}",
        ]
    return "\n".join(lines[:12])


def main() -> int:
    """Runs the comparison."""
    parser = fuzz_options(__doc__, nodes=8)
    parser.add_argument("--first", type=int, default=0, help="number of the first graph of the seed")
    parser.add_argument("--kinds", type=int, default=0, help="kinds of errors to count at the end")
    arguments = parser.parse_args()
    from tests.oracle.tensorflow_placer import local_devices

    ask, before = oracle_of(arguments)
    ops = usable_ops(arguments.release)
    totals: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    start = time.time()
    for number in range(arguments.first, arguments.first + arguments.count):
        rng = random.Random(f"functions:{arguments.seed}:{number}")
        message, is_recursive = random_functions(rng, ops, arguments.release, rng.randint(1, arguments.nodes))
        devices = local_devices(rng.choice([1, 1, 2]), rng.choice([0, 1, 2, 4]))
        soft = rng.random() < 0.6
        config = ConfigProto(allow_soft_placement=soft)
        # TensorFlow writes out functions that call themselves without end.
        inlines = rng.random() < 0.1 and not is_recursive
        config.graph_options.optimizer_options.do_function_inlining = inlines

        def judge(graph: Any, devices: list[str] = devices, config: Any = config) -> tuple[Any, Any]:
            soft = config.allow_soft_placement
            theirs = ask(graph.SerializeToString(), devices, soft, config=config.SerializeToString())
            return in_order(theirs), in_order(ours(graph, [*before, *devices], config, arguments.release))

        def disagrees(graph: Any, judge: Any = judge, kind: Any = None) -> bool:
            theirs, mine = judge(graph)
            return theirs != mine and (kind is None or (type(theirs), type(mine)) == kind)

        theirs, mine = judge(message)
        totals["graphs"] += 1
        only_xla = arguments.release == "1.15" and "No OpKernel" in str(mine) and theirs != mine
        if "XLA_CPU" in str(theirs) or only_xla:
            totals["skipped, on XLA_CPU"] += 1
            continue
        if isinstance(theirs, tuple) and "has inputs from different frames" in theirs[1]:
            totals["skipped, a body with half a loop"] += 1
            continue
        totals["errors" if isinstance(theirs, tuple) else "placed"] += 1
        if isinstance(theirs, tuple):
            kinds[re.sub(r"'[^']*'|\b(n|Func|f)[0-9/]\S*|\[.*|\{.*", "*", theirs[1])[:90]] += 1
        if isinstance(theirs, list):
            totals["nodes placed"] += len(theirs)
        if theirs == mine:
            continue
        if in_another_order(message, [*before, *devices], config, arguments.release, theirs):
            totals["equal in another order"] += 1
            continue
        totals["disagreements"] += 1
        if totals["disagreements"] <= arguments.show:
            kind = type(theirs), type(mine)
            small = smaller(message, lambda graph, kind=kind: disagrees(graph, kind=kind))
            print(f"--- seed {arguments.seed}:{number} soft={soft} devices={len(devices)}")
            print(shown(small))
            print(difference(*judge(small)), flush=True)
    if arguments.kinds:
        print(*(f"{count:7d} {kind}" for kind, count in kinds.most_common(arguments.kinds)), sep="\n")
    print(dict(totals), f"{time.time() - start:.0f} s")
    return 1 if totals["disagreements"] else 0


if __name__ == "__main__":
    sys.exit(main())
