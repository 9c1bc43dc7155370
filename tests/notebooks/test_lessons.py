"""The nine lessons and their index: how they hang together, and that what they teach is in what they show."""

import re

import nbformat
import pytest

from tests.notebooks.notebook_runs import ANSWER, LESSONS, ROOT, SEQUELS, code_cell, pictures, texts
from tests.project.test_layers import LAYERS

LOCAL = "/job:localhost/replica:0/task:0/device:"
pytestmark = pytest.mark.notebook
LINK = re.compile(r"\]\(([^)\s]+)\)")


def read(number: str) -> nbformat.NotebookNode:
    (path,) = (ROOT / "notebooks").glob(f"{number}-*.ipynb")
    return nbformat.read(path, as_version=4)


def markdown(notebook: nbformat.NotebookNode) -> str:
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


PATH = [*LESSONS, *SEQUELS]


def test_the_index_opens_with_links_to_the_lessons_in_their_order():
    assert [path.stem[:2] for path in PATH] == [f"{number:02}" for number in range(1, 19)]
    first = read("00").cells[0].source
    assert LINK.findall(first)[:18] == [path.name for path in PATH]


@pytest.mark.parametrize("number", range(18))
def test_each_lesson_leads_to_the_next(number):
    """With its title, at the beginning and at the end; reference lessons are no part of the path."""
    before, here, after = [None, *PATH, None][number : number + 3]
    cells = nbformat.read(here, as_version=4).cells
    links = ["[All lessons](00-index.ipynb)"]
    if before:
        links.insert(0, f"[← {title(before)}]({before.name})")
    if after:
        links.append(f"[{title(after)} →]({after.name})")
    navigation = " · ".join(links)
    assert cells[0].source.splitlines()[2] == navigation
    assert cells[-1].source.splitlines()[-1] == navigation


def title(path) -> str:
    return nbformat.read(path, as_version=4).cells[0].source.splitlines()[0].removeprefix("# ")


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_links_lead_to_files(path):
    named = LINK.findall(markdown(nbformat.read(path, as_version=4)))
    assert named
    assert [name for name in named if not (path.parent / name.partition("#")[0]).is_file()] == []


@pytest.mark.parametrize("path", PATH, ids=lambda path: path.stem)
def test_form_of_a_lesson(path):
    """A title, a machine in the first cell of code, a picture, and at the end things to try with answers."""
    notebook = nbformat.read(path, as_version=4)
    assert len(notebook.cells) <= (24 if path in LESSONS else 36)
    assert title(path).startswith(f"{int(path.stem[:2])}. ")
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    own = "gpuplace" if "import tensorflow" in code[1].source else "tf"
    assert f"{own}.use_machine(" in code[0].source
    assert any(map(pictures, code))
    assert all(max(map(len, cell.source.splitlines())) < 125 for cell in code)
    last = notebook.cells[-2].source
    questions = last[last.index("## Things to try") :]
    count = len(re.findall(r"^\d\. ", questions, re.MULTILINE))
    answers = list(ANSWER.finditer(questions))
    assert count == len(answers) == questions.count("<details>") == questions.count("</details>") >= 3
    assert all(answer["text"] for answer in answers)
    assert "Often misunderstood" in markdown(notebook)


def test_the_table_of_packages_has_all_that_there_are():
    rows = re.findall(r"^\| (`[^|]*) \|", markdown(read("22")), re.MULTILINE)
    listed = re.findall(r"`(\w+)`", " ".join(rows))
    layers = {name.partition(".")[0] for name in LAYERS}
    folders = {path.parent.name for path in (ROOT / "gpuplace").glob("*/__init__.py")}
    assert len(set(listed)) == len(listed)
    assert layers & (folders | {"web"}) <= set(listed) <= layers


def stays(node: str, op_type: str, device: str) -> str:
    return f"{node}: ({op_type}): {LOCAL}{device}"


# Lesson, source of a code cell (pattern) -> parts of what it shows, in this order.
FACTS = {
    ("18", r"^print\(log\)|capture_log"): ["47 nodes: 47 on CPU:0; 21 eager ops"],
    ("18", r"^ops = "): ["MatMul  CPU:0      2      0 GPU kernels, but not for int32, int64"],
    ("18", r"no GPU kernel"): ["FlatMapDataset, MapDataset, "],
    ("18", r"^comparison"): ["15 nodes on the predicted device, 0 on another, 0 unexplained"],
    ("01", r"DeviceSpec"): ["/gpu:0  ", "/device:GPU:0\n", "/gpu:1  ", "/device:GPU:1\n"],
    ("01", r"list_devices"): [f"{LOCAL}CPU:0 is a CPU", f"{LOCAL}GPU:0 is a GPU"],
    ("01", r"^numbers"): ["[[22. 28.]\n [49. 64.]]", "3 nodes: 3 on GPU:0; nothing is copied"],
    ("01", r"^placement\.explain"): ["GPU comes before CPU", "for CPU", "ask for '/device:CPU:0'"],
    ("01", r"tf\.kernels"): ["CPU ", "int32, int64\n", "GPU complex128, complex64, double, float, half\n"],
    ("01", r"4, 5, 6\], shape=\[3"): [
        "-> /job:localhost/replica:0/task:0/device:CPU:0",
        "kernels for MatMul with T=int32: CPU; none on GPU",
    ],
    ("01", r"blame"): ["3 of 3 nodes not on a GPU", "no GPU kernel for MatMul with T=int32"],
    ("02", r"^a = "): [
        "Device mapping:\n",
        stays("MatMul", "MatMul", "GPU:0"),
        stays("a", "Const", "GPU:0"),
        stays("b", "Const", "GPU:0"),
        "[[22. 28.]\n [49. 64.]]",
    ],
    ("02", r"explain"): ["generator", "all its consumers are on GPU:0: MatMul"],
    ("02", r"make the session"): [
        "--- make the session\nDevice mapping:",
        "--- run\ny: ",
        "x: ",
        "--- run again\n--- run a larger graph\ny: ",
        "z: ",
        "x: ",
        "--- end",
    ],
    ("02", r"RunMetadata"): ["GPU:0 MatMul = MatMul(a, b)", "_Send(", "CPU:0 MatMul/_3 = _Recv("],
    ("02", r"for release in"): [
        "MatMul: /job:localhost/replica:0/task:0/gpu:0",
        f"MatMul: {LOCAL}GPU:0",
        stays("MatMul", "MatMul", "GPU:0"),
    ],
    ("02", r"parse_log\(kept\)"): [
        "LoggedPlacement of 3 nodes: 2 on GPU:0, 1 on CPU:0; 2 pieces of text not understood",
        "a       Const   -          CPU:0",
    ],
    ("02", r"in_2016"): [
        "2 nodes: 1 on CPU:0, 1 on GPU:0; 3 pieces of text not understood",
        "line 1 not understood: sess.run(c)\n",
        "2 nodes: 1 on GPU:0, 1 on CPU:0; 2 pieces of text not understood",
        "placer.cc:54] a: (Con\n",
        "2 eager ops; 1 piece of text not understood",
        "step 2, loss 0.52",
    ],
    ("03", r"^%%placement"): [
        "Placed on 2x Tesla K40c (2 GPU devices) as TensorFlow 1.15",
        "1 copy between devices, 16 B",
        "x     Const   /device:GPU:1  GPU:1",
        stays("y", "MatMul", "GPU:0"),
    ],
    ("03", r"^with tf\.device"): [
        stays("MatMul", "MatMul", "GPU:0"),
        stays("a", "Const", "CPU:0"),
        stays("b", "Const", "CPU:0"),
        "[[22. 28.]\n [49. 64.]]",
    ],
    ("03", r"direction"): ["2 copies between devices, 48 B"],
    ("03", r"frame\(\"copies"): ["a  MatMul  float32   2×3     24", "b  MatMul  float32   3×2     24"],
    ("03", r"requested:"): ["'/device:CPU:0' ''", "device:CPU:0 device:GPU:0"],
    ("03", r"outer"): [
        "/job:localhost/device:GPU:0",
        "/job:localhost/device:CPU:0",
        "/job:localhost/task:0/device:GPU:0",
        "''",
    ],
    ("03", r"_Recv"): [
        "z/_5 is received by device:CPU:0\n",
        "x/_1 is received by device:GPU:0\n",
        "bias/_3 is received by device:GPU:0\n",
    ],
    ("03", r"diff"): ["soft placement (2)", "y: ", "z: "],
    ("04", r"total_bytes"): ["whole memory 11,439 MiB, free 11,363 MiB"],
    ("04", r"no options"): ["4.0 MiB in use, 10.5 GiB taken from the GPU in 1 region, limit 10.5 GiB"],
    ("04", r"\"allow_growth\""): ["4.0 MiB in use, 5.0 MiB taken from the GPU in 2 regions, limit 10.5 GiB"],
    ("04", r"close"): ["'taken': 5242880, 'in use': 0"],
    ("04", r"DataFrame"): ["10795.7  10795.7     4.0", "10795.7      5.0     4.0", "4575.9   4575.9     4.0"],
    ("04", r"catch_warnings"): ["limit: 4575 MiB", "process-wide", "0.4 stays, 0.7 is ignored"],
    ("04", r"too_large"): [
        "OOM when allocating tensor with shape[6000,6000] and type float on",
        f"{LOCAL}GPU:0 by allocator GPU_0_bfc",
    ],
    ("04", r"explorer\.allow_growth"): [
        "0.0 -> 10795 MiB\n0.4 -> 4575 MiB",
    ],
    ("04", r"explorer\.apply_remedy"): [
        "Unified memory on GPUs with compute capability lower than 6.0",
        "remedies: ('Back to per_process_gpu_memory_fraction=0.4', 'Clear per_process_gpu_memory_fraction')",
        "GPUOptions(allow_growth=True, per_process_gpu_memory_fraction=0.4)",
        "4798231347",
        "4  8388620",
    ],
    ("04", r"\"fragmentation\""): ["119955783", "20971520            0.5"],
    ("04", r"pieces"): ["free: 40 MiB", "address of 30 MiB more: None"],
    ("05", r"^def on_third"): [
        stays("MatMul", "MatMul", "GPU:2"),
        stays("a", "Const", "GPU:2"),
        "[[22. 28.]\n [49. 64.]]",
    ],
    ("05", r"^tf\.use_machine\(\"1x"): ["was explicitly assigned to /device:GPU:2 but available devices are"],
    ("05", r"set_release\(\"1\.4\"\)"): [
        "Cannot assign a device to node 'b': Could not satisfy explicit device specification '/device:GPU:2'",
        '_device="/device:GPU:2"]()]]',
    ],
    ("05", r"^sess = .*allow_soft"): [
        stays("MatMul", "MatMul", "GPU:0"),
        "[[22. 28.]",
    ],
    ("05", r"display\(sess"): ["GPU:0  False", "3 device requests overridden"],
    ("05", r"^sess\.placement\.explain"): ["soft placement", "any device", "GPU comes before CPU"],
    ("05", r"squared"): ["no supported kernel for GPU devices is available", "this node: T=int32"],
    ("05", r"explorer\.pin"): [
        "Cannot assign a device for operation MatMul\n",
        "0 Turn on soft placement\n1 Show all GPUs (unset CUDA_VISIBLE_DEVICES)\n",
    ],
    ("05", r"apply_remedy"): [
        "a GPU:2 -> GPU:0 | generator | follows MatMul",
        "MatMul GPU:2 -> GPU:0 | soft placement | asks for '/device:GPU:2', which the machine does not have",
        "3 nodes moved",
    ],
    ("05", r"explorer\.compare"): [
        "[('generator', 2), ('soft placement', 1)] | soft placement drops the type and index of a request that cannot",
        "3 on GPU:2; nothing is copied",
    ],
    ("06", r"for d in"): [
        "device: 3, name: Tesla K20m, pci bus id: 0000:84:00.0",
        stays("MatMul", "MatMul", "GPU:2"),
        stays("MatMul_1", "MatMul", "GPU:3"),
        stays("AddN", "AddN", "CPU:0"),
        stays("Const", "Const", "GPU:2"),
        stays("Const_3", "Const", "GPU:3"),
        "[[ 44.  56.]\n [ 98. 128.]]",
    ],
    ("06", r"^sess\.placement\.picture"): ["2 copies between devices, 32 B"],
    ("06", r"^def model"): ["9 on CPU:0, 28 on GPU:0, 6 on GPU:1"],
    ("06", r"careful\.picture"): ["9 on CPU:0, 17 on GPU:0, 17 on GPU:1"],
    ("06", r"^def arrivals"): ["MatMul_1  AddN  float32   2×2     16", "CPU:0       1          2        32"],
    ("06", r"^pd\.concat"): [
        "careless CPU:0       9          2    524288",
        "GPU:0      28          2    294912",
        "careful  CPU:0       9          2    524288",
        "GPU:1      17          1    262144",
    ],
    ("06", r"explorer\.compare"): [
        "[('request', 11)]",
        "Cannot assign a device for operation tower_1/batch",
    ],
    ("06", r"careless\.diff"): ["11 operations moved", "here anyway  tower_1/MatMul, tied to it"],
    ("07", r"^def chain"): [
        "=1        GPU 1 is /device:GPU:0\n",
        "=0,1      GPU 0 is /device:GPU:0, GPU 1 is /device:GPU:1\n",
        '="0,1"    GPU 0 is /device:GPU:0, GPU 1 is /device:GPU:1\n',
        "=0,2,3    GPU 0 is /device:GPU:0, GPU 2 is /device:GPU:1, GPU 3 is /device:GPU:2\n",
        "=         no GPU",
    ],
    ("07", r"too late"): [
        f"{LOCAL}GPU:0 -> device: 0, name: Tesla K20m, pci bus id: 0000:83:00.0",
        "['device:CPU:0', 'device:GPU:0']",
        "CUDA_VISIBLE_DEVICES='3' has no effect",
    ],
    ("07", r"\"3,1\""): [
        f"{LOCAL}GPU:0 -> device: 3, name: Tesla K20m, pci bus id: 0000:84:00.0",
        f"{LOCAL}GPU:1 -> device: 1, name: Tesla K20m, pci bus id: 0000:03:00.0",
    ],
    ("07", r"\"2,0\""): [
        "GPU 1 is /device:GPU:1, GPU 3 is /device:GPU:0",
        "not in CUDA_VISIBLE_DEVICES='1,2,3'",
        "not in visible_device_list='2,0'",
    ],
    ("07", r"VISIBLE_DEVICES=\"0\""): [
        "'visible_device_list' listed an invalid GPU id '2' but visible device count is 1"
    ],
    ("07", r"for visible in"): [
        "(2, 3) -> {'x': 'GPU:0', 'y': 'GPU:1'}",
        "(3,) -> Cannot assign a device",
        "both settings -> Cannot assign a device for operation y",
        "'Clear visible_device_list', 'Show all GPUs: clear every setting that hides one'",
    ],
    ("07", r"AlreadyExistsError"): [
        "TensorFlow device (GPU:0) is being mapped to multiple CUDA devices (2 now, and 1 previously)"
    ],
    ("07", r"set_release\(\"1\.4\"\)"): ["TensorFlow 1.4 allows this silently"],
    ("07", r"for number in range\(4\)"): [f"[10. 20.] {LOCAL}GPU:{number}\n" for number in range(4)],
    ("08", r"^v = "): [f"1000.0 {LOCAL}GPU:0", f"1000.0 {LOCAL}GPU:1"],
    ("08", r"sess1\.run\(b\)"): ["is not an element of this graph"],
    ("08", r"counter"): ["one: 2.0 other: 0.0"],
    ("08", r"write_graph"): [f"[3. 5.] {LOCAL}GPU:0", f"[3. 5.] {LOCAL}GPU:1"],
    ("08", r"^tf\.reset.*\nfor number"): ["[array([3., 5.], dtype=float32), array([7., 9.], dtype=float32)]"],
    ("08", r"asks for"): ["layer asks for /device:GPU:3", "result asks for /device:GPU:1"],
    ("08", r"node\.device = ''"): ["[-1. -2.] {'GPU:1': 2}"],
    ("09", r"doubled"): ["[[2. 2.]\n [2. 2.]]", "5 on CPU:0, 2 on GPU:1; 1 copy between devices, 16 B"],
    ("09", r"weights/Assign"): [
        "here anyway  weights, tied to it, asks for '/device:CPU:0'",
        "with weights/Initializer/ones, weights, weights/read",
        "tied by      reference edge weights -> weights/Assign",
    ],
    ("09", r"frame\(\"groups\"\)"): [
        "weights/Initializer/ones      0     4  /device:CPU:0    weights",
        "weights/read                  0     4  /device:CPU:0    weights",
    ],
    ("09", r"name=\"update\""): ["update/value", "GPU:1", "AssignAdd  /device:CPU:0  CPU:0"],
    ("09", r"^tf\.reset.*\n\n.*cpu:1"): [
        "was explicitly assigned to /device:CPU:1 but available devices are"
    ],
    ("09", r"\"CPU\": 3"): [
        *(f"{LOCAL}{name}\n" for name in ("CPU:0", "CPU:1", "CPU:2", "GPU:0")),
        "on",
        "CPU:1",
    ],
    ("09", r"\"GPU\": 0"): ["['device:CPU:0']"],
    ("09", r"global_step"): ["no supported kernel for GPU devices is available", "this node: dtype=int32"],
    ("09", r"Momentum"): [
        "w/Momentum",
        "GPU:0",
        "v/Momentum",
        "GPU:1",
        "update_w",
        "GPU:0",
        "update_v",
        "GPU:1",
    ],
    ("00", r"total"): ["1 on CPU:0, 2 on GPU:0, 1 on GPU:1; 3 copies between devices, 48 B"],
    ("10", r"except ValueError"): ["Variable model/w already exists, disallowed.", "model/w:0 True"],
    ("10", r"compute_gradients"): ["66 nodes: 38 on GPU:0, 28 on GPU:1; 2 copies between devices, 16 B"],
    ("10", r"for pairs in gradients|enumerate\(gradients\)"): [
        "tower 0: ",
        "on GPU:0",
        "tower 1: ",
        "on GPU:1",
    ],
    ("10", r"in \[1, 2\]"): ["towers: 1 weights: [-0.0743 -0.1018]", "towers: 2 weights: [-0.0743 -0.1018]"],
    ("11", r"^step = "): [
        "16.1 ms; 3 copies, 24.0 MiB",
        "79% of the step: x > x/read > first > arrived > second",
    ],
    ("11", r"starts, ms"): ["first  GPU:1  8.0        3.3         6.7        0.7"],
    ("11", r"^for after"): ["after None: 16.1 ms", "after arrived: 12.9 ms", "after second: 16.1 ms"],
    ("11", r"^for source"): ["('first', 'GPU:1', 8388608), ('side', 'CPU:0', 8388608)"] * 2,
    ("12", r"RestoreV2"): [
        "SaveV2     CPU:0",
        "RestoreV2  CPU:0",
        "save/Assign     GPU:0",
        "save/Assign_3   GPU:3",
    ],
    ("12", r"list_variables"): [
        "model-100.index",
        "model-100.meta",
        "layer3/w   [8, 8]",
        "step       []",
        "y: 16.0",
    ],
    ("12", r"saver\.restore"): ["y: 16.0"],
    ("12", r"NotFoundError"): ["Restoring from checkpoint failed", "0.25"],
    ("12", r"^def load"): ["Cannot assign a device for operation layer1/w", "'GPU:0'", "'step': 'CPU:0'"],
    ("12", r"2x Tesla"): [
        "clear_devices ['GPU:0', 'GPU:0', 'GPU:0', 'GPU:0']",
        "['GPU:0', 'GPU:1', 'GPU:0', 'GPU:0']",
    ],
    ("13", r"fifo_queue_Dequeue\"\)"): ["yields to source", "FIFOQueueV2 has no GPU kernel"],
    ("13", r"QueueRunner\(queue, \[queue\.enqueue\(count"): ["[1, 2, 3, 4, 5]", "threads left: 0"],
    ("13", r"^explorer[\s\S]*program|program\(4\)"): ["157 on GPU:3", "88 copies between devices, 4.2 MiB"],
    ("13", r"for home in"): ["22   515.8   563.9", " 3     0.0    48.1", "88  2063.2", "69     0.0  1595.4"],
    ("13", r"steps = \{home"): ["1       1.25    1.16", "4       1.28    2.02"],
    ("13", r"^for gpus, timeline"): [
        "GPUs: 1 copies: 22 22 bytes: 1105552 1105552",
        "GPUs: 4 copies: 88 88 bytes: 4422208 4422208",
    ],
    ("13", r"^rows = \{\}\nfor name, how"): ["one device 2", "9", "True", "NCCL"],
    ("14", r"GPUs at work"): [
        "layers 1               0",
        "1037",
        "347",
        "towers 1             476",
        "4            1904",
    ],
    ("14", r"weights, MiB"): ["GPU:0          174             2", "GPU:2           63           147"],
    ("15", r"tower_choices"): [
        "4x Tesla K80 1        561.0   540.0",
        "4x V100      1       1324.0  3380.0",
        "9302.0",
    ],
    ("15", r"average_at=place"): ["V100, averages at home   :  7836", "V100, averages on the CPU:  3161"],
    ("15", r"on_first_gpu\]"): [
        "P100           46   68%           65  100%",
        "A100           53   14%          345  100%",
    ],
    ("15", r"for near in"): [
        "colocate_gradients_with_ops=False   414 ms",
        "colocate_gradients_with_ops=True    237 ms",
    ],
    ("16", r"at the most|advice\.bound"): ["recommended 18.5 ms, none below 11.2 ms: 66% above that"],
    ("16", r"keep=\"mixed_0\""): ["The step takes 16.6 ms instead of 22.7 ms"],
    ("16", r"in_towers"): ["one GPU        22.7 ms", "recommended    18.5 ms", "two towers     12.4 ms"],
    ("17", r"list_devices"): [
        "/job:ps/replica:0/task:0/device:GPU:0",
        "/job:worker/replica:0/task:1/device:CPU:0",
    ],
    ("17", r"session\.placement\[name\]"): [
        "w  ",
        "/job:ps",
        "MatMul  ",
        "/job:worker/replica:0/task:1",
        "update_w/",
        "/job:ps",
    ],
    ("17", r"placement\.picture\(\)"): ["13 on ps/0 GPU:0, 45 on worker/1 GPU:0; 5 copies between devices"],
    ("17", r"placement\.edges\(\)"): [
        "ps 0     -> worker 1  w/read",
        "worker 1 -> ps 0      gradients/MatMul_grad",
    ],
    ("17", r"FULL_TRACE"): [
        "worker 1 -> ps 0 ",
        "ps 0     -> worker 1  w/read",
        "8 bytes, arrived after ",
    ],
    ("17", r"compare\(metadata\)"): ["network loopback", "w/read", "predicted 140 µs, measured "],
    ("17", r"100GbE"): ["1GbE    64 MiB in 581 ms", "10GbE   64 MiB in 68 ms", "100GbE  64 MiB in 17 ms"],
    ("17", r"train_asynchronously\)"): ["steps: 100", "learned: True"],
    ("17", r"train_synchronously\)"): ["steps: 5", "as one worker with the whole batch: True"],
    ("17", r"second_worker\.kill\(\)\n[\s\S]*except"): ["UnavailableError from /job:worker/replica:0/task:1"],
    ("17", r"nothing lost"): ["nothing lost: True", "further steps: 1"],
}


@pytest.mark.parametrize(("number", "pattern"), FACTS, ids=lambda part: part)
def test_facts(number, pattern):
    """In the saved text, which another test finds again in a clean kernel."""
    notebook = read(number)
    cells = [
        c for c in notebook.cells if c.cell_type == "code" and re.search(pattern, c.source, re.MULTILINE)
    ]
    shown = "\n".join(text for cell in cells for text in texts(cell))
    position = 0
    for part in FACTS[number, pattern]:
        found = shown.find(part, position)
        assert found >= 0, (part, shown)
        position = found + len(part)


def test_pictures_have_the_colours_of_the_devices():
    from gpuplace.views.tables.palette import device_style

    cpu, gpu, third = (device_style(f"/device:{name}").fill for name in ("CPU:0", "GPU:0", "GPU:2"))
    (all_on_gpu,) = pictures(code_cell(read("01"), r"^numbers"))
    assert {fill for name, text, fill in all_on_gpu.boxes if "MatMul" in text or "Const" in text} == {gpu}
    (constants_on_cpu,) = pictures(code_cell(read("03"), r"direction"))
    assert {cpu, gpu} <= {fill for _, _, fill in constants_on_cpu.boxes}
    assert sum("copy" in kind for kind, _ in constants_on_cpu.arrows) == 2
    (towers,) = pictures(code_cell(read("06"), r"^sess\.placement\.picture"))
    fills = [fill for name, text, fill in towers.boxes if "Const" in text or "MatMul" in text]
    assert fills.count(third) == 3
