"""``tf.gfile``: the functions of ``file_system`` with TensorFlow 1's function and argument names.

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
    """Return whether a file or folder exists.

    Args:
        filename: path of the file.
    """
    return file_system.exists(filename)


def Glob(filename: Path | Iterable[Path]) -> list[str]:  # noqa: N802 - TensorFlow's name
    """Return the paths that match a pattern.

    Args:
        filename: a path with wildcards ``*``, ``?`` and ``[...]``, or a list of them.
    """
    return file_system.glob(filename)


def IsDirectory(dirname: Path) -> bool:  # noqa: N802 - TensorFlow's name
    """Return whether a folder exists.

    Args:
        dirname: path of the folder.
    """
    return file_system.isdir(dirname)


def ListDirectory(dirname: Path) -> list[str]:  # noqa: N802 - TensorFlow's name
    """Return the names in a folder, in no order; NotFoundError if it does not exist.

    Args:
        dirname: path of the folder.
    """
    return file_system.listdir(dirname)


def MakeDirs(dirname: Path) -> None:  # noqa: N802 - TensorFlow's name
    """Create a folder and its missing parents.

    Args:
        dirname: path of the folder.
    """
    file_system.makedirs(dirname)


def MkDir(dirname: Path) -> None:  # noqa: N802 - TensorFlow's name
    """Create a folder if it does not exist; NotFoundError if the parent folder does not exist.

    Args:
        dirname: path of the folder.
    """
    file_system.mkdir(dirname)


def Remove(filename: Path) -> None:  # noqa: N802 - TensorFlow's name
    """Delete a file; NotFoundError if it does not exist.

    Args:
        filename: path of the file.
    """
    file_system.remove(filename)


def DeleteRecursively(dirname: Path) -> None:  # noqa: N802 - TensorFlow's name
    """Delete a folder with its content; NotFoundError if it does not exist.

    Args:
        dirname: path of the folder.
    """
    file_system.rmtree(dirname)


def Stat(filename: Path) -> file_system.FileStatistics:  # noqa: N802 - TensorFlow's name
    """Return the status of a file; NotFoundError if it does not exist.

    Args:
        filename: path of the file.
    """
    return file_system.stat(filename)


def Rename(oldname: Path, newname: Path, overwrite: bool = False) -> None:  # noqa: N802
    """Rename a file or folder; NotFoundError if it does not exist.

    Args:
        oldname: present path.
        newname: new path.
        overwrite: whether an existing file is replaced; otherwise AlreadyExistsError is raised.
    """
    file_system.rename(oldname, newname, overwrite)


def Copy(oldpath: Path, newpath: Path, overwrite: bool = False) -> None:  # noqa: N802
    """Copy a file; NotFoundError if it does not exist.

    Args:
        oldpath: path of the file.
        newpath: path of the copy.
        overwrite: whether an existing file is replaced; otherwise AlreadyExistsError is raised.
    """
    file_system.copy(oldpath, newpath, overwrite)


def Walk(top: Path, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:  # noqa: N802
    """Iterate over a folder and its subfolders.

    Args:
        top: path of the folder.
        in_order: whether a folder comes before its subfolders.

    Returns:
        An iterator of (folder path, names of subfolders, names of files).
    """
    return file_system.walk(top, in_order)
