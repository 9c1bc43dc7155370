"""Reading catalogue files."""

import gzip

import pytest

from gpuplace.graph.data_file import read_data_file


@pytest.fixture
def package(tmp_path, monkeypatch):
    name = f"package_of_{tmp_path.name}"  # a name of its own: imported packages stay imported
    folder = tmp_path / name
    (folder / "data").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(file, text):
        (folder / "data" / file).write_bytes(gzip.compress(text.encode()))
        return name, file

    return write


def test_blocks_and_facts(package):
    text = "# gpuplace data, format 1: op definitions\n# Facts: not one\n# ops: 2\n\nA\n> out: float\n\nB\n"
    data = read_data_file(*package("ops.gz", text))
    assert data.facts == {"ops": "2", "Facts": "not one"}
    assert data.blocks == {"A": "> out: float", "B": ""}


def test_another_format_is_refused(package):
    with pytest.raises(ValueError, match="does not have the format that this version reads"):
        read_data_file(*package("ops.gz", "# gpuplace data, format 2: op definitions\n\nA\n"))


def test_a_missing_file_is_named():
    with pytest.raises(FileNotFoundError, match=r"ops-9\.9"):
        read_data_file("gpuplace.graph", "ops-9.9.txt.gz")
