"""``tensorflow.python.platform.resource_loader``: files beside the calling code.

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
    """Return the contents of a file.

    Args:
        path: its path below the folder that contains the package ``tensorflow``.

    Raises:
        OSError: it cannot be read.
    """
    root = os.path.abspath(__file__)
    for _ in range(4):  # up from gpuplace/tf1/stand_in/platform
        root = os.path.dirname(root)
    with open(os.path.join(root, path), "rb") as stream:
        return stream.read()


def get_data_files_path() -> str:
    """Return the folder of the calling file."""
    return os.path.dirname(os.path.abspath(sys._getframe(1).f_code.co_filename))


def get_root_dir_with_all_resources() -> str:
    """Return the folder of the calling file, because programs are not packaged here."""
    return os.path.dirname(os.path.abspath(sys._getframe(1).f_code.co_filename))


def get_path_to_datafile(path: str) -> str:
    """Return the path of a file in the folder of the calling file.

    Args:
        path: the path relative to that folder.
    """
    return os.path.join(os.path.dirname(os.path.abspath(sys._getframe(1).f_code.co_filename)), path)


def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """Return a file's path unchanged.

    Args:
        path: the path.
        readahead: ignored.
    """
    return path
