"""``tf.io.gfile``: file functions under the newer names.

Source: tensorflow/_api/v1/io/gfile, release 1.15 (names).
"""

from gpuplace.files.file_system import (
    copy,
    exists,
    glob,
    isdir,
    listdir,
    makedirs,
    mkdir,
    remove,
    rename,
    rmtree,
    stat,
    walk,
)
from gpuplace.files.gfile import GFile

__all__ = [
    "GFile",
    "copy",
    "exists",
    "glob",
    "isdir",
    "listdir",
    "makedirs",
    "mkdir",
    "remove",
    "rename",
    "rmtree",
    "stat",
    "walk",
]
