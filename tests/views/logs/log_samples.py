"""Logs as people have them, with what they say: releases from 0.5 to 2.x, terminals, notebooks, clusters, containers.

A sample's text is written from documented lines of the release. `nodes` is name -> device as printed, in order;
`sessions` the number of nodes in each; `left` texts that were not understood, all of them in order.
"""

from dataclasses import dataclass, field

L = "/job:localhost/replica:0/task:0"
K40 = "device: 0, name: Tesla K40c, pci bus id: 0000:05:00.0"
TIME = "2017-06-12 10:20:30.123456: "
PLACER = "tensorflow/core/common_runtime/placer.cc:54]"
SIMPLE = "tensorflow/core/common_runtime/simple_placer.cc:841]"
ABSL = "I0000 00:00:1795250461.571624   28058 placer.cc:162]"


@dataclass
class Sample:
    """A log and what it says."""

    text: str
    nodes: dict[str, str]
    types: dict[str, str] | None = None
    sessions: list[int] | None = None
    left: list[str] = field(default_factory=list)
    devices: list[str] | None = None
    """Devices of the mapping."""
    events: list[tuple[str, str]] = field(default_factory=list)
    gpus: list[tuple] = field(default_factory=list)
    """``(told, device, number, name, bus, capability, MiB)``"""
    repeated: dict[str, tuple[str, ...]] = field(default_factory=dict)


GUIDE = {"b": f"{L}/gpu:0", "a": f"{L}/gpu:0", "MatMul": f"{L}/gpu:0"}
GUIDE_LINES = "".join(f"{name}: {device}\n" for name, device in GUIDE.items())
NEW = {"MatMul": f"{L}/device:GPU:0", "a": f"{L}/device:GPU:0", "b": f"{L}/device:CPU:0"}
TYPES = {"MatMul": "MatMul", "a": "Const", "b": "Const"}
NEW_LINES = "".join(f"{name}: ({TYPES[name]}): {device}\n" for name, device in NEW.items())
RESULT = "[[ 22.  28.]\n [ 49.  64.]]\n"
RESULT_LEFT = ["[[ 22.  28.]", " [ 49.  64.]]"]


def stderr_lines(prefix: str, form: str = "{name}: ({type}): {device}\n") -> str:
    """The lines of `NEW` as they are on stderr."""
    return "".join(
        f"{prefix} " + form.format(name=name, type=TYPES[name], device=device) for name, device in NEW.items()
    )


def wrapped(text: str, width: int) -> str:
    """As a terminal of a width shows it."""
    return "\n".join(
        line[at : at + width] for line in text.split("\n") for at in range(0, max(1, len(line)), width)
    )


SAMPLES: dict[str, Sample] = {
    "0.5 stdout": Sample(
        f"Device mapping:\n{L}/gpu:0 -> {K40}\n{GUIDE_LINES}{RESULT}",
        GUIDE,
        {"b": "", "a": "", "MatMul": ""},
        [3],
        RESULT_LEFT,
        [f"{L}/gpu:0"],
    ),
    "0.6 stderr": Sample(
        "I tensorflow/core/common_runtime/local_device.cc:25] Local device intra op parallelism threads: 8\n"
        f"I tensorflow/core/common_runtime/gpu/gpu_init.cc:88] Found device 0 with properties: \nname: Tesla K40c\n"
        "major: 3 minor: 5 memoryClockRate (GHz) 0.745\npciBusID 0000:05:00.0\nTotal memory: 11.25GiB\n"
        "Free memory: 11.15GiB\n"
        "I tensorflow/core/common_runtime/gpu/gpu_init.cc:112] DMA: 0 \n"
        "I tensorflow/core/common_runtime/gpu/gpu_init.cc:122] 0:   Y \n"
        "I tensorflow/core/common_runtime/gpu/gpu_device.cc:643] Creating TensorFlow device (/gpu:0) -> "
        "(device: 0, name: Tesla K40c, pci bus id: 0000:05:00.0)\n"
        "I tensorflow/core/common_runtime/local_session.cc:45] Local session inter op parallelism threads: 8\n"
        f"I tensorflow/core/common_runtime/local_session.cc:107] Device mapping:\n{L}/gpu:0 -> {K40}\n\n"
        f"I tensorflow/core/common_runtime/simple_placer.cc:289] b: {L}/gpu:0\n"
        f"I tensorflow/core/common_runtime/simple_placer.cc:289] a: {L}/gpu:0\n",
        {"b": f"{L}/gpu:0", "a": f"{L}/gpu:0"},
        sessions=[2],
        left=[
            "I tensorflow/core/common_runtime/local_device.cc:25] Local device intra op parallelism threads: 8",
            "I tensorflow/core/common_runtime/gpu/gpu_init.cc:112] DMA: 0 ",
            "I tensorflow/core/common_runtime/gpu/gpu_init.cc:122] 0:   Y ",
            "I tensorflow/core/common_runtime/local_session.cc:45] Local session inter op parallelism threads: 8",
        ],
        devices=[f"{L}/gpu:0"],
        gpus=[
            ("found", "", 0, "Tesla K40c", "0000:05:00.0", "3.5", None),
            ("created", "/gpu:0", 0, "Tesla K40c", "0000:05:00.0", "", None),
        ],
    ),
    "0.8 both copies": Sample(
        f"I tensorflow/core/common_runtime/direct_session.cc:137] Device mapping:\n{L}/gpu:0 -> {K40}\n\n"
        + f"Device mapping:\n{L}/gpu:0 -> {K40}\n"
        + "".join(
            f"I tensorflow/core/common_runtime/simple_placer.cc:304] {name}: {device}\n{name}: {device}\n"
            for name, device in GUIDE.items()
        ),
        GUIDE,
        sessions=[3],
        devices=[f"{L}/gpu:0"],
    ),
    "0.11 no GPU": Sample(
        f"Device mapping: no known devices.\nx: {L}/cpu:0\n3\n", {"x": f"{L}/cpu:0"}, sessions=[1], left=["3"]
    ),
    "0.12 stderr without the second colon": Sample(
        "I tensorflow/core/common_runtime/simple_placer.cc:827] MatMul: (MatMul)" + f"{L}/gpu:0\n",
        {"MatMul": f"{L}/gpu:0"},
        {"MatMul": "MatMul"},
        [1],
    ),
    "0.12 both copies": Sample(
        f"MatMul: (MatMul): {L}/gpu:0\nI {SIMPLE} MatMul: (MatMul){L}/gpu:0\n"
        f"b: (Const): {L}/gpu:0\nI {SIMPLE} b: (Const){L}/gpu:0\n",
        {"MatMul": f"{L}/gpu:0", "b": f"{L}/gpu:0"},
        {"MatMul": "MatMul", "b": "Const"},
        [2],
    ),
    "1.0 on Windows": Sample(
        "I c:\\tf_jenkins\\home\\workspace\\release-win\\device\\gpu\\os\\windows\\tensorflow\\core\\common_runtime"
        f"\\simple_placer.cc:669] a: (Const){L}/gpu:0\r\na: (Const): {L}/gpu:0\r\n",
        {"a": f"{L}/gpu:0"},
        {"a": "Const"},
        [1],
    ),
    "1.1 with times": Sample(
        f"{TIME}I tensorflow/core/common_runtime/gpu/gpu_device.cc:887] Found device 0 with properties: \n"
        "name: GeForce GTX 1080\nmajor: 6 minor: 1 memoryClockRate (GHz) 1.7335\npciBusID 0000:01:00.0\n"
        "Total memory: 7.93GiB\nFree memory: 7.81GiB\n"
        f"{TIME}I tensorflow/core/common_runtime/direct_session.cc:257] Device mapping:\n"
        f"{L}/gpu:0 -> device: 0, name: GeForce GTX 1080, pci bus id: 0000:01:00.0\n\n"
        f"{TIME}I {SIMPLE} MatMul: (MatMul){L}/gpu:0\n{TIME}I {SIMPLE} b: (Const){L}/cpu:0\n",
        {"MatMul": f"{L}/gpu:0", "b": f"{L}/cpu:0"},
        {"MatMul": "MatMul", "b": "Const"},
        [2],
        devices=[f"{L}/gpu:0"],
        gpus=[("found", "", 0, "GeForce GTX 1080", "0000:01:00.0", "6.1", None)],
    ),
    "1.0, the mapping on stdout right behind a GPU's properties": Sample(
        "I tensorflow/core/common_runtime/gpu/gpu_device.cc:885] Found device 0 with properties: \nname: Tesla K40c\n"
        "major: 3 minor: 5 memoryClockRate (GHz) 0.745\npciBusID 0000:05:00.0\nTotal memory: 11.17GiB\n"
        f"Free memory: 11.10GiB\nDevice mapping:\n{L}/gpu:0 -> {K40}\n"
        f"I tensorflow/core/common_runtime/direct_session.cc:255] Device mapping:\n{L}/gpu:0 -> {K40}\n\n"
        f"b: {L}/gpu:0\nI tensorflow/core/common_runtime/simple_placer.cc:827] b: {L}/gpu:0\n",
        {"b": f"{L}/gpu:0"},
        sessions=[1],
        devices=[f"{L}/gpu:0"],
        gpus=[("found", "", 0, "Tesla K40c", "0000:05:00.0", "3.5", None)],
    ),
    "1.4 guide": Sample(
        f"Device mapping:\n{L}/device:GPU:0 -> device: 0, name: Tesla K40c, pci bus\nid: 0000:05:00.0\n"
        f"b: {L}/cpu:0\na: {L}/cpu:0\nMatMul: {L}/device:GPU:0\n{RESULT}",
        {"b": f"{L}/cpu:0", "a": f"{L}/cpu:0", "MatMul": f"{L}/device:GPU:0"},
        sessions=[3],
        left=RESULT_LEFT,
        devices=[f"{L}/device:GPU:0"],
    ),
    "1.4 towers": Sample(
        "Device mapping:\n"
        + "".join(
            f"{L}/device:GPU:{i} -> device: {i}, name: Tesla K20m, pci bus\nid: 0000:0{i + 2}:00.0\n"
            for i in range(4)
        )
        + "".join(
            f"{name}: {L}/{device}\n"
            for name, device in (("Const_3", "device:GPU:3"), ("MatMul", "device:GPU:2"), ("AddN", "cpu:0"))
        ),
        {"Const_3": f"{L}/device:GPU:3", "MatMul": f"{L}/device:GPU:2", "AddN": f"{L}/cpu:0"},
        sessions=[3],
        devices=[f"{L}/device:GPU:{i}" for i in range(4)],
    ),
    "1.5 devices made": Sample(
        f"{TIME}I tensorflow/core/common_runtime/gpu/gpu_device.cc:1105] Found device 0 with properties: \n"
        "name: Tesla K80 major: 3 minor: 7 memoryClockRate(GHz): 0.8235\npciBusID: 0000:00:04.0\n"
        "totalMemory: 11.17GiB freeMemory: 11.10GiB\n"
        f"{TIME}I tensorflow/core/common_runtime/gpu/gpu_device.cc:1195] Creating TensorFlow device (/device:GPU:0) -> "
        "(device: 0, name: Tesla K80, pci bus id: 0000:00:04.0, compute capability: 3.7)\n",
        {},
        sessions=[],
        gpus=[
            ("found", "", 0, "Tesla K80", "0000:00:04.0", "3.7", None),
            ("created", "/device:GPU:0", 0, "Tesla K80", "0000:00:04.0", "3.7", None),
        ],
    ),
    "1.8 with memory, and a GPU not used": Sample(
        f"{TIME}I tensorflow/core/common_runtime/gpu/gpu_device.cc:1435] Adding visible gpu devices: 0\n"
        f"{TIME}I tensorflow/core/common_runtime/gpu/gpu_device.cc:1409] Ignoring visible gpu device (device: 1, name: "
        "GeForce GT 730, pci bus id: 0000:02:00.0, compute capability: 3.0) with Cuda compute capability 3.0. The "
        "minimum required Cuda capability is 3.5.\n"
        f"{TIME}I tensorflow/core/common_runtime/gpu/gpu_device.cc:1053] Created TensorFlow device"
        f" ({L}/device:GPU:0 with "
        "10405 MB memory) -> physical GPU (device: 0, name: GeForce GTX 1080 Ti, pci bus id: 0000:01:00.0, compute "
        "capability: 6.1)\n",
        {},
        sessions=[],
        gpus=[
            ("ignored", "", 1, "GeForce GT 730", "0000:02:00.0", "3.0", None),
            ("created", f"{L}/device:GPU:0", 0, "GeForce GTX 1080 Ti", "0000:01:00.0", "6.1", 10405),
        ],
    ),
    "1.13 stderr": Sample(stderr_lines(f"{TIME}I {PLACER}", "{name}: ({type}){device}\n"), NEW, TYPES, [3]),
    "1.14 both": Sample(
        f"Device mapping:\n{L}/device:XLA_CPU:0 -> device: XLA_CPU device\n{L}/device:XLA_GPU:0 -> device:"
        f" XLA_GPU device\n"
        f"{L}/device:GPU:0 -> {K40}, compute capability: 3.5\n"
        + NEW_LINES
        + RESULT
        + f"{TIME}I tensorflow/core/common_runtime/direct_session.cc:296] Device mapping:\n"
        f"{L}/device:XLA_CPU:0 -> device: XLA_CPU device\n{L}/device:XLA_GPU:0 -> device: XLA_GPU device\n"
        f"{L}/device:GPU:0 -> {K40}, compute capability: 3.5\n\n" + stderr_lines(f"{TIME}I {PLACER}"),
        NEW,
        TYPES,
        [3],
        RESULT_LEFT,
        [f"{L}/device:XLA_CPU:0", f"{L}/device:XLA_GPU:0", f"{L}/device:GPU:0"],
    ),
    "2.0 eager in a notebook": Sample(
        f"Executing op MatMul in device {L}/device:GPU:0\ntf.Tensor(\n[[22. 28.]\n [49. 64.]], shape=(2, 2), "
        "dtype=float32)\n",
        {},
        sessions=[0],
        left=["tf.Tensor(", "[[22. 28.]", " [49. 64.]], shape=(2, 2), dtype=float32)"],
        events=[("MatMul", f"{L}/device:GPU:0")],
    ),
    "2.4 eager on both": Sample(
        f"{TIME}I tensorflow/core/common_runtime/eager/execute.cc:733] Executing op Fill in device {L}/device:GPU:0\n"
        f"Executing op Fill in device {L}/device:GPU:0\n"
        f"{TIME}I tensorflow/core/common_runtime/eager/execute.cc:733] Executing op Fill in device {L}/device:GPU:0\n"
        f"Executing op Fill in device {L}/device:GPU:0\n",
        {},
        sessions=[0],
        events=[("Fill", f"{L}/device:GPU:0")] * 2,
    ),
    "2.5 device made": Sample(
        f"{TIME}I tensorflow/core/common_runtime/gpu/gpu_device.cc:1733] Found device 0 with properties: \n"
        "pciBusID: 0000:06:00.0 name: Tesla V100-SXM2-32GB computeCapability: 7.0\n"
        "coreClock: 1.53GHz coreCount: 80 deviceMemorySize: 31.75GiB deviceMemoryBandwidth: 836.37GiB/s\n"
        f"{TIME}I tensorflow/core/common_runtime/gpu/gpu_device.cc:1532] Created device {L}/device:GPU:0 with 30945 MB "
        "memory:  -> device: 0, name: Tesla V100-SXM2-32GB, pci bus id: 0000:06:00.0, compute capability: 7.0\n"
        f"input: (_Arg): {L}/device:GPU:0\n",
        {"input": f"{L}/device:GPU:0"},
        {"input": "_Arg"},
        [1],
        gpus=[
            ("found", "", 0, "Tesla V100-SXM2-32GB", "0000:06:00.0", "7.0", None),
            ("created", f"{L}/device:GPU:0", 0, "Tesla V100-SXM2-32GB", "0000:06:00.0", "7.0", 30945),
        ],
    ),
    "2.21 stderr": Sample(
        "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n"
        "I0000 00:00:1795250461.568830   28058 direct_session.cc:382] Device mapping: no known devices.\n"
        + stderr_lines(ABSL),
        NEW,
        TYPES,
        [3],
    ),
    "2.21 mapping on stderr alone, nodes on both": Sample(
        NEW_LINES
        + f"c: (Neg): {L}/device:CPU:0\n"
        + "I0000 00:00:1795250461.568830   28058 direct_session.cc:382] Device mapping: no known devices.\n"
        + stderr_lines(ABSL)
        + "I0000 00:00:1795250462.568830   28058 direct_session.cc:382] Device mapping: no known devices.\n"
        + f"{ABSL} c: (Neg): {L}/device:CPU:0\n",
        NEW | {"c": f"{L}/device:CPU:0"},
        TYPES | {"c": "Neg"},
        [3, 1],
    ),
    "sessions that stdout has no mapping of": Sample(
        f"Device mapping:\n{L}/device:GPU:0 -> {K40}\n{TIME}I tensorflow/core/direct_session.cc:1] Device mapping:\n"
        f"{L}/device:GPU:0 -> {K40}\n\nx: (Const): {L}/device:GPU:0\n{TIME}I {PLACER} x: (Const): {L}/device:GPU:0\n"
        f"{TIME}I tensorflow/core/direct_session.cc:1] Device mapping: no known devices.\n"
        f"x: (Const): {L}/device:CPU:0\n{TIME}I {PLACER} x: (Const): {L}/device:CPU:0\n",
        {"x": f"{L}/device:CPU:0"},
        sessions=[1, 1],
        devices=[f"{L}/device:GPU:0"],
        repeated={"x": (f"{L}/device:GPU:0", f"{L}/device:CPU:0")},
    ),
    "2.5 on a Mac": Sample(
        f"{TIME}I tensorflow/core/common_runtime/pluggable_device/pluggable_device_factory.cc:271] Created TensorFlow "
        f"device ({L}/device:GPU:0 with 0 MB memory) -> physical PluggableDevice (device: 0, name: METAL, pci bus id: "
        f"<undefined>)\nDevice mapping:\n{L}/device:GPU:0 -> device: 0, name: METAL, pci bus id: <undefined>\n",
        {},
        devices=[f"{L}/device:GPU:0"],
        gpus=[("created", f"{L}/device:GPU:0", 0, "METAL", "<undefined>", "", 0)],
    ),
    "a cluster": Sample(
        "x: (Const): /job:worker/replica:0/task:1/device:GPU:0\nw: (VariableV2):"
        " /job:ps/replica:0/task:0/device:CPU:0\n",
        {"x": "/job:worker/replica:0/task:1/device:GPU:0", "w": "/job:ps/replica:0/task:0/device:CPU:0"},
        sessions=[2],
    ),
    "a TPU": Sample(
        "dot: (MatMul): /job:tpu_worker/replica:0/task:0/device:TPU:7\n",
        {"dot": "/job:tpu_worker/replica:0/task:0/device:TPU:7"},
    ),
    "wrapped at 80 columns": Sample(
        wrapped(
            "tower_0/conv1/weights/Initializer/random_uniform/RandomUniform/of/a/layer/with/a/long/name:"
            " (RandomUniform): "
            f"{L}/device:GPU:0\n{TIME}I {PLACER} b: (Const): {L}/device:GPU:1\nc: (Const): {L}/device:GPU:0\n",
            80,
        ),
        {
            "tower_0/conv1/weights/Initializer/random_uniform/RandomUniform/of/a/layer/with/a/long/name": (
                f"{L}/device:GPU:0"
            ),
            "c": f"{L}/device:GPU:0",
            "b": f"{L}/device:GPU:1",
        },
    ),
    "wrapped at 40 columns": Sample(wrapped(NEW_LINES + RESULT, 40), NEW, TYPES, [3], RESULT_LEFT),
    "broken in the middle of a device's name": Sample(
        "A line that is much longer than the broken one, as programs print them, so that nothing is known of a width\n"
        "a: (Const): /job:localhost/replica:0/ta\nsk:0/device:GPU:0\n",
        {"a": f"{L}/device:GPU:0"},
        left=[
            "A line that is much longer than the broken one, as programs print them, so that nothing is"
            " known of a width"
        ],
    ),
    "wrapped between words": Sample(
        f"Device mapping:\n{L}/device:GPU:0 -> device: 0, name: Tesla\nK40c, pci bus id: 0000:05:00.0, compute\n"
        f"capability: 3.5\nMatMul: (MatMul):\n{L}/device:GPU:0\n",
        {"MatMul": f"{L}/device:GPU:0"},
        sessions=[1],
        devices=[f"{L}/device:GPU:0"],
    ),
    "stderr inside a line of stdout": Sample(
        f"MatMul: (MatMul): /job:localhost/rep{TIME}I {PLACER} MatMul: (MatMul): {L}/device:GPU:0\n"
        f"lica:0/task:0/device:GPU:0\na: (Const): {L}/device:GPU:1{TIME}I {PLACER} a: (Const): {L}/device:GPU:1\n\n",
        {"MatMul": f"{L}/device:GPU:0", "a": f"{L}/device:GPU:1"},
        sessions=[2],
    ),
    "stderr inside a name": Sample(
        f"tower_0/Mat{TIME}I {PLACER} tower_0/MatMul: (MatMul): {L}/device:GPU:0\nMul: (MatMul): {L}/device:GPU:0\n",
        {"tower_0/MatMul": f"{L}/device:GPU:0"},
        sessions=[1],
    ),
    "stderr inside a name that nothing confirms": Sample(
        f"tower_0/Mat{TIME}W tensorflow/core/foo.cc:1] look out\nMul: (MatMul): {L}/device:GPU:0\n",
        {},
        left=[
            "tower_0/Mat",
            f"{TIME}W tensorflow/core/foo.cc:1] look out",
            f"Mul: (MatMul): {L}/device:GPU:0",
        ],
        sessions=[],
    ),
    "stderr inside a device's number": Sample(
        f"a: (Const): {L}/device:GPU:1{TIME}I {PLACER} a: (Const): {L}/device:GPU:12\n2\n",
        {"a": f"{L}/device:GPU:12"},
        sessions=[1],
    ),
    "a mapping of stderr inside a line of stdout": Sample(
        f"x: (Con{TIME}I tensorflow/core/common_runtime/direct_session.cc:359] Device mapping:\n"
        f"{L}/device:XLA_CPU:0 -> device: XLA_CPU device\n\nst): {L}/device:CPU:0\n",
        {"x": f"{L}/device:CPU:0"},
        {"x": "Const"},
        [1],
        devices=[f"{L}/device:XLA_CPU:0"],
    ),
    "at the prompt": Sample(
        f">>> sess.run(c)\nb: {L}/gpu:0\n>>> a: {L}/gpu:0\narray([[ 22.,  28.]])\n>>> \n",
        {"b": f"{L}/gpu:0", "a": f"{L}/gpu:0"},
        left=[">>> sess.run(c)", "array([[ 22.,  28.]])", ">>> "],
    ),
    "in IPython": Sample(
        f"In [3]: sess.run(c)\nMatMul: (MatMul): {L}/device:GPU:0\nOut[3]: \narray([[22., 28.]], dtype=float32)\n",
        {"MatMul": f"{L}/device:GPU:0"},
        left=["In [3]: sess.run(c)", "Out[3]: ", "array([[22., 28.]], dtype=float32)"],
    ),
    "behind other text on the line": Sample(
        f"Epoch 1 a: (Const): {L}/device:GPU:0\n", {"a": f"{L}/device:GPU:0"}, left=["Epoch 1 "]
    ),
    "two sessions": Sample(
        f"Device mapping:\n{L}/gpu:0 -> {K40}\nx: (Const): {L}/gpu:0\n4.0\n"
        f"Device mapping: no known devices.\nx: (Const): {L}/cpu:0\n4.0\n",
        {"x": f"{L}/cpu:0"},
        sessions=[1, 1],
        left=["4.0", "4.0"],
        devices=[f"{L}/gpu:0"],
        repeated={"x": (f"{L}/gpu:0", f"{L}/cpu:0")},
    ),
    "a graph that grows": Sample(
        f"x: (Const): {L}/device:GPU:0\n1.0\nx: (Const): {L}/device:GPU:0\ny: (Neg): {L}/device:GPU:0\n",
        {"x": f"{L}/device:GPU:0", "y": f"{L}/device:GPU:0"},
        sessions=[2],
        left=["1.0"],
    ),
    "a name in two functions": Sample(
        f"x: (_Arg): {L}/device:GPU:0\nx: (_Arg): {L}/device:CPU:0\n",
        {"x": f"{L}/device:CPU:0"},
        repeated={"x": (f"{L}/device:GPU:0", f"{L}/device:CPU:0")},
    ),
    "odd names": Sample(
        f"_SOURCE/a.b-c\\d>e: (Const): {L}/device:GPU:0\ncond/then/_0/input/_9: (Identity): {L}/device:CPU:0\n"
        f"gradients/AddN_1-0-TransposeNHWCToNCHW-LayoutOptimizer: (Transpose): {L}/device:GPU:0\n"
        f"слой/вес: (Const): {L}/device:GPU:0\n",
        {
            "_SOURCE/a.b-c\\d>e": f"{L}/device:GPU:0",
            "cond/then/_0/input/_9": f"{L}/device:CPU:0",
            "gradients/AddN_1-0-TransposeNHWCToNCHW-LayoutOptimizer": f"{L}/device:GPU:0",
            "слой/вес": f"{L}/device:GPU:0",
        },
    ),
    "colours": Sample(
        f"\x1b[32mMatMul\x1b[0m: (MatMul): {L}/device:GPU:0\x1b[0m\n", {"MatMul": f"{L}/device:GPU:0"}
    ),
    "docker compose": Sample(
        f"worker_1  | a: (Const): {L}/device:GPU:0\nworker_1  | 4.0\n",
        {"a": f"{L}/device:GPU:0"},
        left=["worker_1  | ", "worker_1  | 4.0"],
    ),
    "docker compose, stderr": Sample(
        f"worker_1  | {TIME}I {PLACER} a: (Const): {L}/device:GPU:0\n"
        f"worker_1  | {TIME}I {PLACER} b: (Const): {L}/device:GPU:1\nworker_1  | a: (Const): {L}/device:GPU:0\n",
        {"a": f"{L}/device:GPU:0", "b": f"{L}/device:GPU:1"},
        sessions=[2],
        left=["worker_1  | "],
    ),
    "mpirun": Sample(
        f"[1,0]<stdout>:a: (Const): {L}/device:GPU:0\n", {"a": f"{L}/device:GPU:0"}, left=["[1,0]<stdout>:"]
    ),
    "an error": Sample(
        "InvalidArgumentError: Cannot assign a device for operation b: {{node b}} was explicitly assigned to "
        f"/device:GPU:2 but available devices are [ {L}/device:CPU:0, {L}/device:XLA_CPU:0 ]. Make sure the device "
        "specification refers to a valid device.\n\t [[b]]\n",
        {},
        sessions=[],
        left=[
            "InvalidArgumentError: Cannot assign a device for operation b: {{node b}} was explicitly assigned to "
            f"/device:GPU:2 but available devices are [ {L}/device:CPU:0, {L}/device:XLA_CPU:0 ]. Make sure the device "
            "specification refers to a valid device.",
            "\t [[b]]",
        ],
    ),
    "running out of memory": Sample(
        f"a: (Const): {L}/device:GPU:0\n"
        "2019-03-01 10:00:00.000001: W tensorflow/core/common_runtime/bfc_allocator.cc:267] Allocator"
        " (GPU_0_bfc) ran out "
        "of memory trying to allocate 4.00GiB.  Current allocation summary follows.\n"
        "2019-03-01 10:00:00.000002: I tensorflow/core/common_runtime/bfc_allocator.cc:597] Bin (256):"
        " \tTotal Chunks: 2, "
        "Chunks in use: 2. 512B allocated for chunks.\n"
        "2019-03-01 10:00:00.000003: W tensorflow/core/common_runtime/bfc_allocator.cc:271] **__x*\n",
        {"a": f"{L}/device:GPU:0"},
        left=[
            "2019-03-01 10:00:00.000001: W tensorflow/core/common_runtime/bfc_allocator.cc:267] Allocator"
            " (GPU_0_bfc) ran "
            "out of memory trying to allocate 4.00GiB.  Current allocation summary follows.",
            "2019-03-01 10:00:00.000002: I tensorflow/core/common_runtime/bfc_allocator.cc:597] Bin (256):"
            " \tTotal Chunks: "
            "2, Chunks in use: 2. 512B allocated for chunks.",
            "2019-03-01 10:00:00.000003: W tensorflow/core/common_runtime/bfc_allocator.cc:271] **__x*",
        ],
    ),
    "cut off": Sample(
        f"a: (Const): {L}/device:GPU:0\nb: (Const): /job:localhost/repl",
        {"a": f"{L}/device:GPU:0"},
        left=["b: (Const): /job:localhost/repl"],
    ),
    "words that look alike": Sample(
        "/gpu:0: the first GPU\nnode: /gpu:0\nDevice mapping: see below\nExecuting op soon\n/job:localhost is a job\n"
        f"a: (Const): {L}/device:GPU:0x\nx: {L}\n",
        {},
        sessions=[],
        left=[
            "/gpu:0: the first GPU",
            "node: /gpu:0",
            "Device mapping: see below",
            "Executing op soon",
            "/job:localhost is a job",
            f"a: (Const): {L}/device:GPU:0x",
            f"x: {L}",
        ],
    ),
    "a whole number as a result": Sample(
        f"a: (Const): {L}/device:GPU:0\nb: (Const): {L}/device:GPU:1\nlonger: (Const): {L}/device:GPU:0\n"
        f"b_1: (Const): {L}/device:GPU:1\n2\n",
        {
            "a": f"{L}/device:GPU:0",
            "b": f"{L}/device:GPU:1",
            "longer": f"{L}/device:GPU:0",
            "b_1": f"{L}/device:GPU:1",
        },
        left=["2"],
    ),
    "nothing": Sample("", {}, sessions=[]),
    "blank lines": Sample("\n \n\t\n", {}, sessions=[]),
    "another language": Sample("Привет\n你好\n", {}, sessions=[], left=["Привет", "你好"]),
}
