"""``tf.gfile``: the functions of ``file_system`` by the names of TensorFlow 1, with its names of arguments.

Source: tensorflow/python/lib/io/file_io.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpuplace.files import file_system
from gpuplace.files.file_system import Path

__all__ = [
    "Copy", "DeleteRecursively", "Exists", "Glob", "IsDirectory", "ListDirectory", "MakeDirs", "MkDir", "Remove",
    "Rename", "Stat", "Walk",
]  # fmt: skip


def Exists(filename: Path) -> bool:  # noqa: N802 - TensorFlow's name
    """Returns whether there is a file or folder.

    Args:
        filename: its path.
    """
    return file_system.exists(filename)


def Glob(filename: Path | Iterable[Path]) -> list[str]:  # noqa: N802 - TensorFlow's name
    """Returns the paths that match a pattern.

    Args:
        filename: a path with ``*``, ``?`` and ``[...]`` in it, or a list of them.
    """
    return file_system.glob(filename)


def IsDirectory(dirname: Path) -> bool:  # noqa: N802 - TensorFlow's name
    """Returns whether there is a folder.

    Args:
        dirname: its path.
    """
    return file_system.isdir(dirname)


def ListDirectory(dirname: Path) -> list[str]:  # noqa: N802 - TensorFlow's name
    """Returns the names in a folder, in no order; NotFoundError if there is no such folder.

    Args:
        dirname: its path.
    """
    return file_system.listdir(dirname)


def MakeDirs(dirname: Path) -> None:  # noqa: N802 - TensorFlow's name
    """Makes a folder and those around it, where they are missing.

    Args:
        dirname: its path.
    """
    file_system.makedirs(dirname)


def MkDir(dirname: Path) -> None:  # noqa: N802 - TensorFlow's name
    """Makes a folder, if there is none; NotFoundError if the folder around it is missing.

    Args:
        dirname: its path.
    """
    file_system.mkdir(dirname)


def Remove(filename: Path) -> None:  # noqa: N802 - TensorFlow's name
    """Deletes a file; NotFoundError if there is none.

    Args:
        filename: its path.
    """
    file_system.remove(filename)


def DeleteRecursively(dirname: Path) -> None:  # noqa: N802 - TensorFlow's name
    """Deletes a folder with everything in it; NotFoundError if there is none.

    Args:
        dirname: its path.
    """
    file_system.rmtree(dirname)


def Stat(filename: Path) -> file_system.FileStatistics:  # noqa: N802 - TensorFlow's name
    """Returns what is known of a file; NotFoundError if there is none.

    Args:
        filename: its path.
    """
    return file_system.stat(filename)


def Rename(oldname: Path, newname: Path, overwrite: bool = False) -> None:  # noqa: N802
    """Gives a file or folder another name; NotFoundError if there is none.

    Args:
        oldname: its path.
        newname: its new path.
        overwrite: whether a file there is replaced; else that is an AlreadyExistsError.
    """
    file_system.rename(oldname, newname, overwrite)


def Copy(oldpath: Path, newpath: Path, overwrite: bool = False) -> None:  # noqa: N802
    """Copies a file; NotFoundError if there is none.

    Args:
        oldpath: its path.
        newpath: the copy's path.
        overwrite: whether a file there is replaced; else that is an AlreadyExistsError.
    """
    file_system.copy(oldpath, newpath, overwrite)


def Walk(top: Path, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:  # noqa: N802
    """Gives all folders in a folder, itself included.

    Args:
        top: path of the folder.
        in_order: whether a folder comes before those in it.

    Returns:
        An iterator of paths of folders, each with the names of the folders and of the files in it.
    """
    return file_system.walk(top, in_order)
