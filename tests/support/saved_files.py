"""What TensorFlow wrote to files, unpacked: see `tests/oracle/record/saved_files.py`."""

import json
import tarfile
from pathlib import Path

import numpy as np

from gpuplace.dtypes import as_dtype

DATA = Path(__file__).parents[1] / "data"
RELEASES = ("1.15", "2.21")
PREFIXES = {
    "all": "all",
    "sliced": "sliced",
    "sharded": "sharded-3",
    "one": "one",
    "parts": "parts-?????-of-00002",
}
"""Name of a checkpoint in ``expected.json`` -> what its files' names begin with."""


def unpack(release: str, folder: Path) -> Path:
    """Unpacks the files of a release into a folder, and returns that."""
    with tarfile.open(DATA / f"saved-{release}.tar.xz") as archive:
        for member in archive.getmembers():
            path = folder / member.name
            if member.isfile():  # `extractall(filter=...)` came with Python 3.11.4
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(archive.extractfile(member).read())
    return folder


def expected(folder: Path) -> dict[str, dict[str, tuple[str, list[int], object]]]:
    """What the checkpoints in a folder hold."""
    return json.loads((folder / "expected.json").read_text(encoding="utf-8"))


def array(dtype: str, shape: list[int], content: object) -> np.ndarray:
    """An array from hexadecimal digits."""
    if dtype == "string":
        content = [content] if isinstance(content, str) else content
        flat = np.empty(len(content), object)
        flat[:] = [bytes.fromhex(text) for text in content]
        return flat.reshape(shape)
    return np.frombuffer(bytes.fromhex(content), as_dtype(dtype).numpy_dtype).reshape(shape)


def same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays are equal in type, shape and every bit."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return one.tolist() == other.tolist() if one.dtype == object else one.tobytes() == other.tobytes()
