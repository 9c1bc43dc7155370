"""``tensorflow.python.lib.io.file_io``: files by functions, as programs that run in a cluster call them.

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
    """What is in a file.

    Args:
        filename: the file.
        binary_mode: whether as bytes; else as text.

    Raises:
        NotFoundError: it does not exist.
    """
    content = read_bytes(filename)
    return content if binary_mode else content.decode()


def write_string_to_file(filename: Path, file_content: str | bytes) -> None:
    """Writes a file, in the place of one that is there.

    Args:
        filename: the file.
        file_content: what it holds.

    Raises:
        NotFoundError: its folder does not exist.
    """
    with FileIO(filename, "w") as file:
        file.write(file_content)


def atomic_write_string_to_file(filename: Path, contents: str | bytes, overwrite: bool = True) -> None:
    """Writes a file that others see whole or not at all.

    Args:
        filename: the file.
        contents: what it holds.
        overwrite: whether one that is there may be replaced.

    Raises:
        AlreadyExistsError: it is there, and may not be replaced.
        NotFoundError: its folder does not exist.
    """
    file_system.check_free(filename, overwrite)
    with with_op_errors(filename):
        write_file(text_of(filename), contents.encode() if isinstance(contents, str) else contents)


def get_matching_files(filename: Path | Iterable[Path]) -> list[str]:
    """The files that match a pattern, or several.

    Args:
        filename: patterns with ``*``, ``?`` and ``[...]``.
    """
    return file_system.glob(filename)


def copy(oldpath: Path, newpath: Path, overwrite: bool = False) -> None:
    """Copies a file.

    Args:
        oldpath: the file.
        newpath: where to.
        overwrite: whether a file that is there may be replaced.

    Raises:
        AlreadyExistsError: there is one, and it may not be replaced.
        NotFoundError: the file does not exist.
    """
    file_system.copy(oldpath, newpath, overwrite)


def rename(oldname: Path, newname: Path, overwrite: bool = False) -> None:
    """Moves a file.

    Args:
        oldname: the file.
        newname: where to.
        overwrite: whether a file that is there may be replaced.

    Raises:
        AlreadyExistsError: there is one, and it may not be replaced.
        NotFoundError: the file does not exist.
    """
    file_system.rename(oldname, newname, overwrite)


def list_directory(dirname: Path) -> list[str]:
    """The names of what is in a folder.

    Args:
        dirname: the folder.

    Raises:
        NotFoundError: it does not exist.
    """
    return file_system.listdir(dirname)


def stat(filename: Path) -> FileStatistics:
    """Size and time of a file.

    Args:
        filename: the file.

    Raises:
        NotFoundError: it does not exist.
    """
    return file_system.stat(filename)


def walk(top: Path, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """A folder and those below it, each with the names of its folders and files.

    Args:
        top: the folder.
        in_order: whether a folder comes before those below it.
    """
    return file_system.walk(top, in_order)


def file_crc32(filename: Path, block_size: int = 1 << 24) -> str:
    """The CRC-32 of a file's bytes, as a hexadecimal number.

    Args:
        filename: its path.
        block_size: how many bytes are read at a time.

    Raises:
        NotFoundError: there is no such file.
    """
    crc = 0
    with FileIO(filename, "rb") as file:
        while block := file.read(block_size):
            crc = zlib.crc32(block, crc)
    return hex(crc)


def filecmp(filename_a: Path, filename_b: Path) -> bool:
    """Whether two files hold the same.

    Args:
        filename_a: the path of one.
        filename_b: that of the other.

    Raises:
        NotFoundError: one is not there.
    """
    with FileIO(filename_a, "rb") as one, FileIO(filename_b, "rb") as other:
        if one.size() != other.size():
            return False
    return file_crc32(filename_a) == file_crc32(filename_b)
