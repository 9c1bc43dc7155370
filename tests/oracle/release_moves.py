"""Lists what moves between TensorFlow 1.15 and 2.21 on the corpus's graphs, with the rule that moves it.

    python -m tests.oracle.release_moves [--gpus 2] [--hard] [--nodes 3]

needs no TensorFlow: the graphs that 1.15 wrote come from `tests/data`, and both placements are gpuplace's, which
`tests/placer/test_corpus.py` compares with the recorded ones. A move through a kernel says which release has the
kernel, and a move with a group which of its ops has such a kernel.
"""

from __future__ import annotations

import argparse
import io
import lzma
import tarfile
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gpuplace.device.machine import Machine
from gpuplace.errors import OpError
from gpuplace.graphdef.load import load_placement_graph
from gpuplace.kernels.registry import default_catalogue
from gpuplace.why.place import place_graph
from gpuplace.why.placement import Placement
from gpuplace.why.rules import Rule

ARCHIVE = Path(__file__).parent.parent / "data" / "corpus-1.15.tar.xz"
RELEASES = ("1.15", "2.21")


@dataclass(frozen=True)
class ReleaseMove:
    """A node that the newer release places elsewhere."""

    graph: str
    node: str
    op: str
    before: str
    """Type and index, as in GPU:0."""
    after: str
    rule: str
    """What settled it; for a kernel with the release that has one."""


def corpus_files(folder: Path) -> dict[str, Path]:
    """Name -> GraphDef file or SavedModel folder, unpacked there."""
    with tarfile.open(fileobj=io.BytesIO(lzma.decompress(ARCHIVE.read_bytes()))) as archive:
        archive.extractall(folder, filter="data")
    return {path.stem: path for path in sorted(folder.iterdir())}


def placements(path: Path, machine: Machine, soft: bool) -> tuple[Placement, Placement]:
    """One graph under both releases' rules and kernels.

    Raises:
        OpError: a release cannot place it.
    """
    before, after = (
        place_graph(
            load_placement_graph(path, default_catalogue(release), signature=""),
            machine.device_set(),
            default_catalogue(release),
            soft=soft,
            rules=release,
        )
        for release in RELEASES
    )
    return before, after


def kernel_change(before: Placement, after: Placement, node: str) -> str:
    """Which release alone has kernels for a node on which device types; "" where they agree."""
    old, new = ({kind for kind, _ in p.facts_of(p.graph.index[node]).supported} for p in (before, after))
    changes = ((new - old, "2.21"), (old - new, "1.15"))
    return ", ".join(
        f"{' and '.join(sorted(kinds))} kernel only in {release}" for kinds, release in changes if kinds
    )


def groups_of(placement: Placement) -> tuple[list[int], dict[int, list[str]]]:
    """Each node's group, and each group's nodes."""
    assert placement.partition is not None
    roots = [int(root) for root in placement.partition.root]
    members: dict[int, list[str]] = defaultdict(list)
    for name, root in zip(placement.graph.names, roots, strict=True):
        members[root].append(name)
    return roots, members


def moves_of(name: str, before: Placement, after: Placement) -> Iterator[ReleaseMove]:
    """The nodes of one graph that move."""
    roots, members = groups_of(after)
    for move in before.diff(after):
        index = after.graph.index[move.node]
        rule = move.cause.value
        own = kernel_change(before, after, move.node)
        if own:
            rule = f"kernel: {own}"
        elif move.cause in (Rule.GROUP, Rule.REQUEST, Rule.KERNEL):
            changed = {
                f"{after.facts_of(after.graph.index[member]).signature.op_type}, {change}"
                for member in members[roots[index]]
                if (change := kernel_change(before, after, member))
            }
            rule = f"{rule}, with " + "; ".join(sorted(changed)) if changed else rule
        devices = (device.rpartition("device:")[2] for device in (move.before, move.after))
        yield ReleaseMove(name, move.node, after.facts_of(index).signature.op_type, *devices, rule)


def all_moves(gpus: int, soft: bool) -> tuple[list[ReleaseMove], int]:
    """Every move on the corpus, and how many nodes both releases placed."""
    machine = Machine.simulated(gpus=gpus)
    found: list[ReleaseMove] = []
    placed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, path in corpus_files(Path(folder)).items():
            try:
                before, after = placements(path, machine, soft)
            except OpError:
                continue
            placed += len(before)
            found.extend(moves_of(name, before, after))
    return found, placed


def report(moves: list[ReleaseMove], placed: int, shown: int = 3) -> str:
    """The moves by rule, most first, with the ops and some nodes of each."""
    graphs = len({move.graph for move in moves})
    lines = [f"{len(moves)} of {placed} nodes move between 1.15 and 2.21, in {graphs} graphs"]
    grouped: dict[str, list[ReleaseMove]] = defaultdict(list)
    for move in moves:
        grouped[move.rule].append(move)
    for rule, members in sorted(grouped.items(), key=lambda item: (-len(item[1]), item[0])):
        lines.append(f"{rule}: {len(members)}")
        ops = Counter(f"{move.op} {move.before} -> {move.after}" for move in members)
        lines += [
            f"  {count:4} {op}" for op, count in sorted(ops.items(), key=lambda item: (-item[1], item[0]))
        ]
        lines += [f"       for example {move.node} in {move.graph}" for move in members[:shown]]
    return "\n".join(lines)


def main() -> None:
    """Prints the list."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpus", type=int, default=2)
    parser.add_argument("--hard", action="store_true", help="without soft placement")
    parser.add_argument("--nodes", type=int, default=3, help="examples for each rule")
    arguments = parser.parse_args()
    print(report(*all_moves(arguments.gpus, not arguments.hard), arguments.nodes))


if __name__ == "__main__":
    main()
