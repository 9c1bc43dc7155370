"""Every notebook runs from a clean kernel, and each output is what is saved and what the guide documents."""

import re

import nbformat
import pytest

from gpuplace.why.placement_log import device_name
from tests.notebooks.notebook_runs import (
    LIVE,
    NOTEBOOKS,
    code_cell,
    differences,
    execute,
    is_measured,
    kinds,
    pages,
    pictures,
    portable,
    texts,
    tolerance,
    with_answers,
    without_pictures,
)

pytestmark = [pytest.mark.notebook]

LOCAL = "/job:localhost/replica:0/task:0"
K40C = "name: Tesla K40c, pci bus id: 0000:05:00.0"
K20M = "name: Tesla K20m, pci bus id:"
PRODUCT = "[[22. 28.]\n [49. 64.]]"
OF_THIS_RUN = re.compile(r"/tmp/|/home/|/root/|ipykernel_|site-packages| at 0x(?!7f0000000000)")
"""What no saved output may hold: places of one machine, addresses of one process."""


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=lambda path: path.stem)
def run(request):
    """(saved notebook, executed notebook, answers)."""
    executed, answers = execute(request.param)
    return nbformat.read(request.param, as_version=4), executed, answers


def test_outputs_are_those_that_are_saved(run):
    saved, executed, _ = run
    for before, after in zip(saved.cells, executed.cells, strict=True):
        if is_measured(before):
            assert kinds(after) == kinds(before) != set(), before.source
        elif before.cell_type == "code" and tolerance(before):
            for old, new in zip(texts(before), texts(after), strict=True):
                assert differences(old, new, tolerance(before)) == [], before.source
        elif before.cell_type == "code":
            assert texts(after) == texts(before), before.source
            assert [without_pictures(page) for page in pages(after)] == [
                without_pictures(page) for page in pages(before)
            ], before.source


def test_few_cells_show_times_of_this_computer():
    """They are tagged, and so are those whose sums depend on the order of threads, with the part that may differ."""
    cells = [cell for path in NOTEBOOKS for cell in nbformat.read(path, as_version=4).cells]
    assert [cell.id for cell in cells if is_measured(cell)] == ["11-16", "17-13", "17-15"]
    assert {cell.id: tolerance(cell) for cell in cells if tolerance(cell)} == {"13-15": 0.05}


def test_numbers_may_differ_by_a_part():
    assert differences("loss: 2.00 of 3", "loss: 2.09 of 3", 0.05) == []
    assert differences("loss: 2.00", "loss: 2.20", 0.05) == ["2.00 is 2.20"]
    assert differences("loss: 2.00", "gain: 2.00", 0.05) == ["gain: 2.00"]
    assert differences("1, 2", "1, 2, 3", 0.05) == ["1, 2, 3"]


def test_pictures_show_what_the_saved_ones_show(run):
    """The same boxes with the same texts in the same colours, and the same arrows; layouts may differ."""
    saved, executed, _ = run
    assert any(map(pictures, saved.cells))
    for before, after in zip(saved.cells, executed.cells, strict=True):
        if is_measured(before):
            assert len(pictures(after)) == len(pictures(before)), before.source
        else:
            assert pictures(after) == pictures(before), before.source


def test_answers_print_what_they_say(run):
    saved, _, answers = run
    for answer in answers:
        assert answer.printed == answer.expected, answer.code
    assert with_answers(nbformat.from_dict(saved), answers) == saved


def test_saved_outputs_can_be_read_without_a_kernel(run):
    saved, _, _ = run
    assert portable(saved) == saved
    assert OF_THIS_RUN.search(re.sub(r"base64,[^\"]*", "", nbformat.writes(saved))) is None
    for cell in saved.cells:
        for output in cell.get("outputs", ()):
            assert not set(output.get("data", {})) & set(LIVE)
            assert output.output_type != "error"
        for page in map(without_pictures, pages(cell)):
            assert "<script" not in page and "://" not in page  # packed data may contain any letters


def test_a_live_widget_is_shown_while_there_is_a_kernel(run):
    _, executed, _ = run
    for cell in executed.cells:
        if cell.cell_type == "code" and re.search(r"^explorer$", cell.source, re.MULTILINE):
            assert LIVE[0] in cell.outputs[0].data
            (picture,) = pictures(cell)
            assert picture.boxes


def guide_log(lines: str, release: str = "1.15") -> list[str]:
    """``MatMul GPU:0`` for each line -> lines of the log."""
    types = {"a": "Const", "b": "Const"}
    found = []
    for line in lines.split(","):
        node, device = line.split()
        name = device_name(f"{LOCAL}/device:{device}", release)
        op_type = types.get(node, node.partition("_")[0])
        found.append(f"{node}: {name}" if release == "1.4" else f"{node}: ({op_type}): {name}")
    return found


# Source of a code cell (pattern) -> lines that it prints, in this order, others between them or not.
DOCUMENTED = {
    r"^tf\.reset_default_graph\(\)\n\na = ": [
        "Device mapping:",
        f"{LOCAL}/device:GPU:0 -> device: 0, {K40C}, compute capability: 3.5",
        *guide_log("MatMul GPU:0,a GPU:0,b GPU:0"),
        *PRODUCT.split("\n"),
    ],
    r"^tf\.set_release\(\"1\.4\"\)\nwith": [
        f"{LOCAL}/device:GPU:0 -> device: 0, {K40C}",
        *guide_log("b GPU:0,a GPU:0,MatMul GPU:0", "1.4"),
        *PRODUCT.split("\n"),
    ],
    r"with tf\.device\('/cpu:0'\):\n    a": [
        *guide_log("MatMul GPU:0,a CPU:0,b CPU:0"),
        *PRODUCT.split("\n"),
    ],
    r"^for edge in": ["a -> MatMul: 24 bytes", "b -> MatMul: 24 bytes"],
    r"per_process_gpu_memory_fraction = 0\.4": [f"{LOCAL}/device:GPU:0 4,576 MiB"],
    r"catch_warnings": [f"{LOCAL}/device:GPU:0 4,576 MiB"],
    r"^def on_third_gpu": [*guide_log("MatMul GPU:2,a GPU:2,b GPU:2"), *PRODUCT.split("\n")],
    r"^tf\.set_release\(\"1\.4\"\)\ntry": [
        "Cannot assign a device to node 'b': Could not satisfy explicit device specification '/device:GPU:2'",
        "\t [[Node: b = Const[dtype=DT_FLOAT, value=Tensor<type: float shape: [3,2] values: 1 2 3...>, "
        '_device="/device:GPU:2"]()]]',
    ],
    r"^sess = tf\.Session\(config=tf\.ConfigProto\(allow_soft": [
        *guide_log("MatMul GPU:0,a GPU:0,b GPU:0"),
        *PRODUCT.split("\n"),
    ],
    r"for d in \['/device:GPU:2'": [
        *(
            f"{LOCAL}/device:GPU:{i} -> device: {i}, {K20M} 0000:{bus}:00.0, compute capability: 3.5"
            for i, bus in enumerate(("02", "03", "83", "84"))
        ),
        *guide_log(
            "MatMul GPU:2,MatMul_1 GPU:3,AddN CPU:0,Const GPU:2,Const_1 GPU:2,Const_2 GPU:3,Const_3 GPU:3"
        ),
        "[[ 44.  56.]",
        " [ 98. 128.]]",
    ],
    r"^for value in|^import os": [
        "CUDA_VISIBLE_DEVICES=1        /device:GPU:0 is GPU 1",
        "CUDA_VISIBLE_DEVICES=0,1      /device:GPU:0 is GPU 0, /device:GPU:1 is GPU 1",
        'CUDA_VISIBLE_DEVICES="0,1"    /device:GPU:0 is GPU 0, /device:GPU:1 is GPU 1',
        "CUDA_VISIBLE_DEVICES=0,2,3    /device:GPU:0 is GPU 0, /device:GPU:1 is GPU 2, /device:GPU:2 is GPU 3",
        "CUDA_VISIBLE_DEVICES=         no GPU",
    ],
    r"visible_device_list=\"3,1\"": [
        f"{LOCAL}/device:GPU:0 -> device: 3, name: Tesla K20m, pci bus id: 0000:84:00.0, compute capability: 3.5",
        f"{LOCAL}/device:GPU:1 -> device: 1, name: Tesla K20m, pci bus id: 0000:03:00.0, compute capability: 3.5",
    ],
    r"\"CUDA_VISIBLE_DEVICES\"\] = \"2\"": [
        f"{LOCAL}/device:GPU:0 -> device: 0, name: Tesla K20m, pci bus id: 0000:83:00.0, compute capability: 3.5",
    ],
    r"visible_device_list=\"2\"\)\)\)\nexcept tf\.errors\.Inv": [
        "'visible_device_list' listed an invalid GPU id '2' but visible device count is 1"
    ],
    r"^import numpy as np": [f"1000.0 {LOCAL}/device:GPU:0", f"1000.0 {LOCAL}/device:GPU:1"],
    r"write_graph": ["Const Const /device:GPU:0", "Const Const /device:GPU:1"],
    r"sess\.run\(\"Const:0\"\), sess": [f"b'Hello, TensorFlow!' {LOCAL}/device:CPU:0"],
    r"device_count=": [
        *(f"{LOCAL}/device:{name}" for name in ("CPU:0", "CPU:1", "CPU:2", "GPU:0", "GPU:1")),
        "[[2. 2.]",
        " [2. 2.]]",
    ],
}


@pytest.fixture(scope="module")
def guide():
    (path,) = [path for path in NOTEBOOKS if path.stem == "20-the-whole-guide"]
    return nbformat.read(path, as_version=4)


def test_the_guide_is_shown_in_pictures(guide):
    assert sum(len(pictures(cell)) for cell in guide.cells) >= 5


@pytest.mark.parametrize("pattern", DOCUMENTED)
def test_the_guides_answers(guide, pattern):
    """The saved text, which the test above finds again in a clean kernel."""
    (printed,) = texts(code_cell(guide, pattern))
    lines = iter(printed.removeprefix("stdout: ").split("\n"))
    for wanted in DOCUMENTED[pattern]:
        assert wanted in lines, (wanted, printed)


@pytest.mark.parametrize(
    ("pattern", "part"),
    [
        (
            r"^tf\.use_machine\(\"1x Tesla K40c\"\)\nc = ",
            "was explicitly assigned to /device:GPU:2 but available devices are [ ",
        ),
        (
            r"^first = ",
            "TensorFlow device (GPU:0) is being mapped to multiple CUDA devices (2 now, and 1 previously)",
        ),
        (r"run\(\"Const:0\"\)\nexcept", "because no supported kernel for GPU devices is available"),
        (
            r"^explorer\.visible_devices",
            "was explicitly assigned to /device:GPU:3 but available devices are [ ",
        ),
    ],
)
def test_the_guides_errors(guide, pattern, part):
    (printed,) = texts(code_cell(guide, pattern))
    assert part in printed


def test_reasons_name_the_rule(guide):
    assert "GPU comes before CPU" in texts(code_cell(guide, r"explain\(\"MatMul\"\)"))[0]
    assert "soft placement" in texts(code_cell(guide, r"^explorer\.soft_placement = True"))[0]
    assert "weights" in texts(code_cell(guide, r"weights/Assign"))[0]
