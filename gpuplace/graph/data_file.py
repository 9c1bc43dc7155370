"""Read the catalogue's data files: a header of facts, then one block of lines for each op.

Both files of a release (op definitions here, kernel registrations in the kernels layer) are gzip-compressed text:

    # gpuplace data, format 1: op definitions
    # release: 2.21
    # ops: 1910

    MatMul
    < a: T
    > product: T

Reading only splits the text into blocks; a block is parsed when its op is requested.
"""

from __future__ import annotations

import gzip
import pkgutil
from dataclasses import dataclass

FORMAT = "# gpuplace data, format 1:"


@dataclass(frozen=True)
class DataFile:
    """A catalogue file, split into blocks."""

    facts: dict[str, str]
    """The header's ``label: value`` lines, such as ``release`` and ``ops``."""
    blocks: dict[str, str]
    """Op name -> the lines below it, unparsed."""


def read_data_file(package: str, name: str) -> DataFile:
    """Read ``data/NAME`` of ``package``.

    Raises:
        FileNotFoundError: the package has no such file.
        ValueError: this version of gpuplace cannot read the format of the file.
    """
    compressed = pkgutil.get_data(package, f"data/{name}")
    if compressed is None:
        raise FileNotFoundError(f"{package} has no data/{name}")
    header, *blocks = gzip.decompress(compressed).decode("utf-8").split("\n\n")
    if not header.startswith(FORMAT):
        raise ValueError(
            f"{package}/data/{name} does not have the format that this version reads ({FORMAT[2:-1]})"
        )
    facts = {}
    for line in header.splitlines()[1:]:
        label, colon, value = line[2:].partition(": ")
        if colon and " " not in label:
            facts[label] = value
    pairs = (block.partition("\n") for block in blocks)
    return DataFile(facts, {op: lines for op, _, lines in pairs})
