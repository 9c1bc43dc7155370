"""Reading the catalogue's data files: a header of facts, then one block of lines per op.

Both files of a release, op definitions here and kernel registrations in the kernels layer, are gzip-compressed text:

    # gpuplace data, format 1: op definitions
    # release: 2.21
    # ops: 1910

    MatMul
    < a: T
    > product: T

Reading splits the text into blocks and no further; a block is parsed when somebody asks for its op.
"""

from __future__ import annotations

import gzip
import pkgutil
from dataclasses import dataclass

FORMAT = "# gpuplace data, format 1:"


@dataclass(frozen=True)
class DataFile:
    """One catalogue file, split into blocks."""

    facts: dict[str, str]
    """The header's ``label: value`` lines, such as ``release`` and ``ops``."""
    blocks: dict[str, str]
    """Op name to the lines below it, unparsed."""


def read_data_file(package: str, name: str) -> DataFile:
    """Reads ``data/NAME`` of ``package``.

    Raises:
        FileNotFoundError: the package has no such file.
        ValueError: the file is of another format than this release of gpuplace reads.
    """
    compressed = pkgutil.get_data(package, f"data/{name}")
    if compressed is None:
        raise FileNotFoundError(f"{package} has no data/{name}")
    header, *blocks = gzip.decompress(compressed).decode("utf-8").split("\n\n")
    if not header.startswith(FORMAT):
        raise ValueError(
            f"{package}/data/{name} is not of the format that this version reads ({FORMAT[2:-1]})"
        )
    facts = {}
    for line in header.splitlines()[1:]:
        label, colon, value = line[2:].partition(": ")
        if colon and " " not in label:
            facts[label] = value
    pairs = (block.partition("\n") for block in blocks)
    return DataFile(facts, {op: lines for op, _, lines in pairs})
