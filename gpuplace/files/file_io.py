"""``tensorflow.python.lib.io.file_io``: file functions, as used by programs that run in a cluster.

Source: tensorflow/python/lib/io/file_io.py, release 1.15 (names, arguments).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from gpuplace.files import file_system
from gpuplace.files.file_system import FileStatistics, Path, read_bytes, text_of, with_op_errors
from gpuplace.files.file_system import exists as file_exists
from gpuplace.files.file_system import isdir as is_directory
from gpuplace.files.file_system import makedirs as recursive_create_dir
from gpuplace.files.file_system import mkdir as create_dir
from gpuplace.files.file_system import remove as delete_file
from gpuplace.files.file_system import rmtree as delete_recursively
from gpuplace.files.gfile import GFile as FileIO
from gpuplace.writing import write_file

__all__ = [
    "FileIO",
    "FileStatistics",
    "atomic_write_string_to_file",
    "copy",
    "create_dir",
    "delete_file",
    "delete_recursively",
    "file_crc32",
    "file_exists",
    "filecmp",
    "get_matching_files",
    "is_directory",
    "list_directory",
    "read_file_to_string",
    "recursive_create_dir",
    "rename",
    "stat",
    "walk",
    "write_string_to_file",
]


def read_file_to_string(filename: Path, binary_mode: bool = False) -> Any:
    """Return the content of a file.

    Args:
        filename: the file.
        binary_mode: whether to return bytes instead of text.

    Raises:
        NotFoundError: the file or folder does not exist.
    """
    content = read_bytes(filename)
    return content if binary_mode else content.decode()


def write_string_to_file(filename: Path, file_content: str | bytes) -> None:
    """Write a file; an existing file is replaced.

    Args:
        filename: the file.
        file_content: content.

    Raises:
        NotFoundError: the folder does not exist.
    """
    with FileIO(filename, "w") as file:
        file.write(file_content)


def atomic_write_string_to_file(filename: Path, contents: str | bytes, overwrite: bool = True) -> None:
    """Write a file atomically.

    Args:
        filename: the file.
        contents: content.
        overwrite: whether an existing file is replaced.

    Raises:
        AlreadyExistsError: the file exists and `overwrite` is False.
        NotFoundError: the folder does not exist.
    """
    file_system.check_free(filename, overwrite)
    with with_op_errors(filename):
        write_file(text_of(filename), contents.encode() if isinstance(contents, str) else contents)


def get_matching_files(filename: Path | Iterable[Path]) -> list[str]:
    """Return the files that match one or several patterns.

    Args:
        filename: patterns with ``*``, ``?`` and ``[...]``.
    """
    return file_system.glob(filename)


def copy(oldpath: Path, newpath: Path, overwrite: bool = False) -> None:
    """Copy a file.

    Args:
        oldpath: the file.
        newpath: target path.
        overwrite: whether an existing file is replaced.

    Raises:
        AlreadyExistsError: the target exists and `overwrite` is False.
        NotFoundError: the file does not exist.
    """
    file_system.copy(oldpath, newpath, overwrite)


def rename(oldname: Path, newname: Path, overwrite: bool = False) -> None:
    """Move a file.

    Args:
        oldname: the file.
        newname: target path.
        overwrite: whether an existing file is replaced.

    Raises:
        AlreadyExistsError: the target exists and `overwrite` is False.
        NotFoundError: the file does not exist.
    """
    file_system.rename(oldname, newname, overwrite)


def list_directory(dirname: Path) -> list[str]:
    """Return the names in a folder.

    Args:
        dirname: the folder.

    Raises:
        NotFoundError: the file or folder does not exist.
    """
    return file_system.listdir(dirname)


def stat(filename: Path) -> FileStatistics:
    """Return the size and modification time of a file.

    Args:
        filename: the file.

    Raises:
        NotFoundError: the file or folder does not exist.
    """
    return file_system.stat(filename)


def walk(top: Path, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Iterate over a folder and its subfolders, each with the names of its folders and files.

    Args:
        top: the folder.
        in_order: whether a folder comes before its subfolders.
    """
    return file_system.walk(top, in_order)


def file_crc32(filename: Path, block_size: int = 1 << 24) -> str:
    """Return the CRC-32 of a file's content as a hexadecimal number.

    Args:
        filename: path of the file.
        block_size: number of bytes per read.

    Raises:
        NotFoundError: the file does not exist.
    """
    crc = 0
    with FileIO(filename, "rb") as file:
        while block := file.read(block_size):
            crc = zlib.crc32(block, crc)
    return hex(crc)


def filecmp(filename_a: Path, filename_b: Path) -> bool:
    """Return whether two files have the same content.

    Args:
        filename_a: path of a file.
        filename_b: path of the other file.

    Raises:
        NotFoundError: a file does not exist.
    """
    with FileIO(filename_a, "rb") as first, FileIO(filename_b, "rb") as second:
        if first.size() != second.size():
            return False
    return file_crc32(filename_a) == file_crc32(filename_b)
