"""``tensorflow.python.lib.io.file_io``."""

import pytest

import gpuplace as tf
from gpuplace.files import file_io


def test_files_by_functions(tmp_path):
    folder, path = tmp_path / "a" / "b", str(tmp_path / "a" / "b" / "one.txt")
    with pytest.raises(tf.errors.NotFoundError):
        file_io.write_string_to_file(path, "x")
    file_io.recursive_create_dir(str(folder))
    file_io.write_string_to_file(path, "één\n")
    assert file_io.read_file_to_string(path) == "één\n"
    file_io.copy(path, path + "2")
    with pytest.raises(tf.errors.AlreadyExistsError):
        file_io.atomic_write_string_to_file(path, "new", overwrite=False)
    file_io.atomic_write_string_to_file(path, "new")
    assert file_io.read_file_to_string(path, binary_mode=True) == b"new"
    assert file_io.stat(path).length == 3
    file_io.rename(path + "2", path + "3")
    assert sorted(file_io.list_directory(str(folder))) == ["one.txt", "one.txt3"]
    assert file_io.get_matching_files(str(folder / "*3")) == [path + "3"]
    file_io.delete_file(path)
    assert not file_io.file_exists(path)
    file_io.delete_recursively(str(tmp_path / "a"))
    assert not file_io.is_directory(str(tmp_path / "a"))
