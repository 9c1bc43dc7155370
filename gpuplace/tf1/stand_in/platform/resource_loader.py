"""``tensorflow.python.platform.resource_loader``: files beside the code that asks for them.

Source: tensorflow/python/platform/resource_loader.py, release 1.15 (names).
"""

from __future__ import annotations

import os
import sys

__all__ = [
    "get_data_files_path",
    "get_path_to_datafile",
    "get_root_dir_with_all_resources",
    "load_resource",
    "readahead_file_path",
]


def load_resource(path: str) -> bytes:
    """What a file holds.

    Args:
        path: its name, below the folder that holds the package ``tensorflow``.

    Raises:
        OSError: it cannot be read.
    """
    root = os.path.abspath(__file__)
    for _ in range(4):  # up from gpuplace/tf1/stand_in/platform
        root = os.path.dirname(root)
    with open(os.path.join(root, path), "rb") as stream:
        return stream.read()


def get_data_files_path() -> str:
    """The folder of the file that calls this."""
    return os.path.dirname(os.path.abspath(sys._getframe(1).f_code.co_filename))


def get_root_dir_with_all_resources() -> str:
    """The same: programs are not packed here."""
    return os.path.dirname(os.path.abspath(sys._getframe(1).f_code.co_filename))


def get_path_to_datafile(path: str) -> str:
    """A file's name with the folder of the file that calls this.

    Args:
        path: the name from that folder on.
    """
    return os.path.join(os.path.dirname(os.path.abspath(sys._getframe(1).f_code.co_filename)), path)


def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """A file's name as it is.

    Args:
        path: the name.
        readahead: how much to read ahead; nothing is.
    """
    return path
