"""The package's data files are what the extraction script gets from TensorFlow 2.21 today."""

import gzip
import os
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("extract_catalogue.py")


@pytest.mark.oracle
def test_extracting_again_gives_the_same_files(tmp_path):
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"}
    subprocess.run([sys.executable, SCRIPT, tmp_path], check=True, env=environment, capture_output=True)
    for folder, name in (("graph", "ops-2.21.txt.gz"), ("kernels", "kernels-2.21.txt.gz")):
        extracted = (tmp_path / folder / "data" / name).read_bytes()
        shipped = (resources.files(f"gpuplace.{folder}") / "data" / name).read_bytes()
        assert gzip.decompress(extracted).decode() == gzip.decompress(shipped).decode()


@pytest.mark.parametrize("release", ["1.15", "2.21"])
def test_files_are_small_and_carry_no_time(release):
    files = [
        (resources.files("gpuplace.graph") / "data" / f"ops-{release}.txt.gz").read_bytes(),
        (resources.files("gpuplace.kernels") / "data" / f"kernels-{release}.txt.gz").read_bytes(),
    ]
    assert sum(map(len, files)) < 100_000
    assert all(data[4:8] == bytes(4) for data in files)
