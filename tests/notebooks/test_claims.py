"""Every sentence of the lessons about TensorFlow has evidence, and the evidence says what the sentence says."""

import contextlib
import gzip
import io
import json
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import nbformat
import pytest

import gpuplace as tf
from gpuplace.device.device_set import DeviceAttributes, DeviceSet
from gpuplace.errors import OpError
from gpuplace.kernels.registry import default_catalogue
from gpuplace.why.place import place_graph
from tests.notebooks.claim_programs import GRAPHS, PROGRAMS, shown
from tests.notebooks.claims import CLAIMS, NO_CLAIMS, Claim, Placed, Program
from tests.notebooks.notebook_runs import NOTEBOOKS, ROOT
from tests.placer.recorded_answers import comparable
from tests.support.node_specs import placement_graph

TESTS = Path(__file__).resolve().parents[1]
CORNERS = json.loads(gzip.decompress((TESTS / "data" / "placements.json.gz").read_bytes()))
OWN = json.loads((TESTS / "data" / "lesson_claims.json").read_text(encoding="utf-8"))
LOCAL = "/job:localhost/replica:0/task:0/device:"
NAMES_TENSORFLOW = re.compile(r"TensorFlow|\b1\.\d+\b(?! ms)|2\.21")


@cache
def named_tests() -> frozenset[str]:
    """All tests, by file and name: files may move to another folder."""
    return frozenset(
        f"{path.name}::{name}"
        for path in TESTS.rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    )


def sentences(cell: nbformat.NotebookNode) -> list[str]:
    """The sentences of a cell of Markdown, without its code, headings and navigation."""
    text = re.sub(r"```.*?```", "", cell.source, flags=re.DOTALL)
    text = re.sub(r"^(#|\[←|\[All lessons\]|---$).*$", "", text, flags=re.MULTILINE)
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:[-|>]|\d\.))", text)
    parts = [re.split(r"(?<=[.!?:])\)?\s+(?=[A-Z`*(\"'])", " ".join(block.split())) for block in blocks]
    return [sentence for part in parts for sentence in part if len(sentence.strip(" -|>")) > 3]


def plain(text: str) -> str:
    """Text with single spaces, and without the marks of quotations."""
    return " ".join(text.replace("\n>", "\n").split())


def lesson_of(number: str) -> nbformat.NotebookNode:
    (path,) = (ROOT / "notebooks").glob(f"{number}-*.ipynb")
    return nbformat.read(path, as_version=4)


def markdown_of(number: str) -> str:
    return plain("\n\n".join(cell.source for cell in lesson_of(number).cells if cell.cell_type == "markdown"))


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim.lesson}: {claim.says[:40]}")
def test_a_claim_is_in_its_lesson_and_has_evidence(claim: Claim):
    assert plain(claim.says) in markdown_of(claim.lesson)
    assert claim.evidence
    for evidence in claim.evidence:
        if isinstance(evidence, Placed):
            for release in evidence.releases:
                check_answer(evidence, recorded_answer(evidence, release))
        elif isinstance(evidence, Program):
            assert evidence.name in PROGRAMS
        else:
            assert evidence in named_tests(), evidence


def check_answer(evidence: Placed, recorded) -> None:
    if isinstance(evidence.answer, str):
        assert isinstance(recorded, list) and recorded[1].startswith(evidence.answer)
    else:
        assert {node: recorded[node] for node in evidence.answer} == evidence.answer


def recorded_answer(evidence: Placed, release: str):
    """What TensorFlow answered: devices by node, or class and message of the error."""
    if evidence.graph in GRAPHS:
        answer = OWN["graphs"][evidence.graph][release]
        return (
            answer
            if isinstance(answer, list)
            else {n: name.removeprefix(LOCAL) for n, name in answer.items()}
        )
    rules = CORNERS["rules"][release]
    cpus, gpus = CORNERS["machines"][evidence.machine]
    names = [*rules["before"], *(f"CPU:{i}" for i in range(cpus)), *(f"GPU:{i}" for i in range(gpus))]
    answer = rules["answers"][evidence.graph][evidence.machine][evidence.soft]
    return (
        answer if isinstance(answer, list) else {node: names[position] for node, position in answer.items()}
    )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_sentence_about_tensorflow_is_without_a_claim(path):
    """Sentences that name it or a release, what is often misunderstood, and all of the lesson of rules."""
    number = path.stem[:2]
    known = [plain(claim.says) for claim in CLAIMS if claim.lesson == number] + list(
        NO_CLAIMS.get(number, ())
    )
    without = []
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type != "markdown":
            continue
        for quotation in re.findall(r"(?:^> .*\n?)+", cell.source, re.MULTILINE):
            if not any(says in plain(quotation.removeprefix("> ")) for says in known):
                without.append(plain(quotation))
        is_of_rules = number == "21" and "## Predict, then run" not in cell.source
        for sentence in sentences(cell):
            whole = plain(cell.source)
            at = whole.find(plain(sentence.removeprefix("> ")))
            near = [whole.find(says) for says in known if says in whole]
            covered = any(at <= place < at + len(sentence) or place <= at < place + 200 for place in near)
            if (is_of_rules or NAMES_TENSORFLOW.search(sentence)) and not covered:
                without.append(sentence)
    assert without == []


def test_nothing_is_listed_twice_or_in_vain():
    assert [what for what, count in Counter((c.lesson, c.says) for c in CLAIMS).items() if count > 1] == []
    for number, listed in NO_CLAIMS.items():
        assert [says for says in listed if says not in markdown_of(number)] == []
    used = [evidence for claim in CLAIMS for evidence in claim.evidence]
    assert {evidence.name for evidence in used if isinstance(evidence, Program)} == set(PROGRAMS)
    assert set(GRAPHS) <= {evidence.graph for evidence in used if isinstance(evidence, Placed)}


@pytest.mark.parametrize("release", ["1.15", "2.21"])
@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_are_placed_as_tensorflow_places_them(name, release):
    devices = DeviceSet([DeviceAttributes(f"{LOCAL}{device}") for device in ("CPU:0", "GPU:0", "GPU:1")])
    catalogue = default_catalogue(release)
    recorded = OWN["graphs"][name][release]
    try:
        found = dict(place_graph(placement_graph(GRAPHS[name], catalogue), devices, catalogue, rules=release))
    except OpError as error:
        found = [type(error).__name__, error.message.split("\n")[0]]
        recorded = [recorded[0], recorded[1].split("\n")[0]]
    assert comparable(found) == comparable(recorded)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_print_what_they_print_under_tensorflow(name):
    tf.use_machine("cpu")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(PROGRAMS[name], {"tf": tf})
    recorded = OWN["programs"][name]
    assert shown(printed.getvalue()) == recorded["1.15"] == recorded["2.21"]


COUNT = """
import json, re
from gpuplace.kernels.registry import default_catalogue
counts, of_integers = {}, {}
for release in ("1.15", "2.21"):
    catalogue = default_catalogue(release)
    names = [name for name in catalogue.kernels.op_names() if catalogue.kernels.rows(name)]
    counts[release] = len(catalogue.ops), len(names)
    of_integers[release] = sum(
        any(
            row.device_type == "GPU" and re.search(r"\\b(int32|int64|bool)\\b", str(row))
            for row in catalogue.kernels.rows(name)
        )
        for name in names
    )
print(json.dumps([counts, of_integers]))
"""


def test_kernel_counts():
    """Op types and op types with a kernel, in the catalogues that come from TensorFlow's binaries.

    They are counted in a process of their own, because tests add ops to the catalogues of this one.
    """
    output = subprocess.run([sys.executable, "-c", COUNT], check=True, capture_output=True, text=True).stdout
    counts, of_integers = json.loads(output)
    assert counts == {"1.15": [1400, 1190], "2.21": [1910, 1536]}
    assert of_integers == {"1.15": 249, "2.21": 296}


def test_kernels_of_matmul():
    for release, kind in (("1.15", "int32"), ("2.21", "int32")):
        kernels = tf.kernels("MatMul", release=release)
        on_gpu = kernels[kernels["device_type"] == "GPU"]["constraints"]
        assert f"T={kind}" not in set(on_gpu) and "T=float" in set(on_gpu)


def test_flow_without_the_attribute_is_left_alone():
    """A loop and a conditional without `_lower_using_switch_merge`, as both placers answered."""
    recorded = json.loads(gzip.decompress((TESTS / "data" / "lowering.json.gz").read_bytes()))["not_lowered"]
    for answers in recorded["answers"].values():
        for hard, _ in answers.values():
            assert {"loop", "cond"} <= set(hard) and not any("/_" in name for name in hard)


def test_errors_of_kernel_times_are_those_of_the_page():
    """The lesson rounds the errors of products and convolutions with one GPU left out at a time."""
    page = (ROOT / "notebooks" / "reference" / "kernel-times.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?:matrix products|convolutions) \| ([\d.]+)%, (\d+)%", page, re.MULTILINE)
    assert len(rows) == 2
    assert max(round(float(half)) for half, _ in rows) == 7
    assert max(int(most) for _, most in rows) == 26
