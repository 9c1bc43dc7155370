"""``tf.gfile``: file functions under TensorFlow 1's names.

Source: tensorflow/_api/v1/gfile, release 1.15 (names).
"""

from gpuplace.files.gfile import FastGFile, GFile
from gpuplace.files.gfile import GFile as Open
from gpuplace.files.old_names import (
    Copy,
    DeleteRecursively,
    Exists,
    Glob,
    IsDirectory,
    ListDirectory,
    MakeDirs,
    MkDir,
    Remove,
    Rename,
    Stat,
    Walk,
)

__all__ = [
    "Copy",
    "DeleteRecursively",
    "Exists",
    "FastGFile",
    "GFile",
    "Glob",
    "IsDirectory",
    "ListDirectory",
    "MakeDirs",
    "MkDir",
    "Open",
    "Remove",
    "Rename",
    "Stat",
    "Walk",
]
