"""Graphs, files and machines that cost little to write and would cost all memory to believe.

Each is read, placed or imported in a process of its own that may take 512 MiB more than it has after its imports; it
has to end within a minute with the answer, or the error, that is named here.
"""

import subprocess
import sys

import pytest

COMMON = """
import gzip, os, resource, sys, tempfile
import gpuplace as tf
from gpuplace.graphdef.messages import GraphDef, TensorProto
from gpuplace.graphdef.load import load_graph_def
from tests.fuzz.graph_defs import limit_memory

tf.set_release("2.21")
folder = tempfile.mkdtemp()
tf.place(GraphDef(), "1x V100")
limit_memory(512 << 20)
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))

def graph():
    made = GraphDef()
    made.node.add(name="a", op="Placeholder").attr["dtype"].type = 1
    return made

def add(made, name, op, *inputs, **types):
    node = made.node.add(name=name, op=op, input=inputs)
    for key, number in types.items():
        node.attr[key].type = number
    return node

def const(made, name, sizes, *values, dtype=1):
    tensor = add(made, name, "Const", dtype=dtype).attr["value"].tensor
    tensor.dtype = dtype
    for size in sizes:
        tensor.tensor_shape.dim.add(size=size)
    (tensor.float_val if dtype == 1 else tensor.int_val).extend(values)

def function(made, name, *calls):
    made.library.function.add().signature.name = name
    for number, callee in enumerate(calls):
        call = made.library.function[-1].node_def.add(name=f"c{number}", op=callee)
        call.attr["_lower_as_multi_device_function"].b = True

def called(made, name):
    add(made, "call", name).attr["_lower_as_multi_device_function"].b = True
    return made

def written(name, data):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(data)
    return path

def imported(made):
    with tf.Graph().as_default() as result:
        tf.import_graph_def(made, name="")
    return result

def answer(work):
    try:
        return f"answer: {work()}"
    except (tf.errors.OpError, ValueError) as error:
        return f"{type(error).__name__}: {error}"

made = graph()
"""

CASES = {
    "a constant that is continued to 8 GiB is placed": (
        "const(made, 'k', [1 << 31], 1, 2)\nprint(answer(lambda: tf.place(made, 'cpu')['k'][-5:]))",
        "answer: CPU:0",
    ),
    "and imported": (
        "const(made, 'k', [1 << 31], 1, 2)\nprint(answer(lambda: imported(made).get_tensor_by_name('k:0').shape))",
        "answer: (2147483648,)",
    ),
    "and not run": (
        "const(made, 'k', [1 << 31], 1, 2)\n"
        "print(answer(lambda: tf.Session(graph=imported(made)).run('k:0')))",
        "ResourceExhaustedError: Graph execution error:\n\nOOM when allocating tensor with shape[2147483648] and type",
    ),
    "one value for 8 GiB is not copied": (
        "const(made, 'k', [1 << 31], 7)\nprint(answer(lambda: tf.Session(graph=imported(made)).run('k:0')))",
        "ResourceExhaustedError: OOM when allocating tensor with shape[2147483648] and type float",
    ),
    "shapes and axes from such constants": (
        "const(made, 'k', [1 << 29], 0, 1, dtype=3)\nconst(made, 'l', [1 << 40], 1, dtype=3)\n"
        "add(made, 's', 'Sum', 'a', 'k', T=1, Tidx=3)\nadd(made, 'f', 'Fill', 'l', 'a', T=1, index_type=3)\n"
        "print(answer(lambda: imported(made).get_tensor_by_name('f:0').shape))",
        "answer: <unknown>",
    ),
    "shape arithmetic that doubles at each step": (
        "const(made, 'x0', [1], 1, dtype=3)\nconst(made, 'z', [], 0, dtype=3)\n"
        "for i in range(60):\n"
        "    add(made, f'x{i + 1}', 'ConcatV2', f'x{i}', f'x{i}', 'z', T=3, Tidx=3).attr['N'].i = 2\n"
        "add(made, 'f', 'Fill', 'x60', 'a', T=1, index_type=3)\n"
        "print(answer(lambda: imported(made).get_tensor_by_name('f:0').shape))",
        "answer: <unknown>",
    ),
    "many long lists of inputs and outputs": (
        "for i in range(3000):\n"
        "    add(made, f'u{i}', 'Unpack', 'a', T=1).attr['num'].i = (1 << 30) + i\n"
        "    add(made, f'n{i}', 'AddN', 'a', T=1).attr['N'].i = (1 << 20) - i\n"
        "add(made, 'last', 'Neg', 'u7:1000000000', T=1)\n"
        "placement = tf.place(made, '1x V100')\nstr(placement.blame()), placement.log(), list(placement.edges())\n"
        "print(answer(lambda: placement['last'][-5:]))",
        "answer: GPU:0",
    ),
    "a list longer than TensorFlow counts": (
        "add(made, 'u', 'Unpack', 'a', T=1).attr['num'].i = 1 << 62\nprint(answer(lambda: tf.place(made, 'cpu')))",
        "InvalidArgumentError: Number of outputs is too big: 4611686018427387904\n\t [[node u]]",
    ),
    "outputs that would all become tensors": (
        "for i in range(100):\n    add(made, f'u{i}', 'Unpack', 'a', T=1).attr['num'].i = 1 << 20\n"
        "print(answer(lambda: imported(made)))",
        "ResourceExhaustedError: Node 'u1' (Unpack) and the nodes before it have too many outputs",
    ),
    "a signature that names one list of types for each argument": (
        "function(made, 'f')\nsignature = made.library.function[0].signature\n"
        "signature.attr.add(name='T', type='list(type)')\n"
        "for i in range(30000):\n    signature.input_arg.add(name=f'x{i}', type_list_attr='T', is_ref=True)\n"
        "add(made, 'c', 'f').attr['T'].list.type.extend([1] * 30000)\n"
        "print(answer(lambda: tf.place(made, 'cpu')['c'][-5:]))",
        "answer: CPU:0",
    ),
    "functions that call the next one twice": (
        "for i in range(100):\n    function(made, f'f{i}', *[f'f{i + 1}' if i < 99 else 'NoOp'] * 2)\n"
        "print(answer(lambda: tf.place(called(made, 'f0'), 'cpu')))",
        "ResourceExhaustedError: Inlining calls and control flow would add too many nodes",
    ),
    "functions that call each other in a circle": (
        "function(made, 'f', 'g', 'g')\nfunction(made, 'g', 'f', 'f')\n"
        "print(answer(lambda: tf.place(called(made, 'f'), 'cpu')))",
        "InvalidArgumentError: Function f calls itself: f > g > f",
    ),
    "functions one in the other, with long names": (
        "for i in range(5000):\n    function(made, f'f{i}', f'f{i + 1}' if i < 4999 else 'NoOp')\n"
        "    made.library.function[-1].node_def[0].name = 'n' * 1000\n"
        "print(answer(lambda: tf.place(called(made, 'f0'), 'cpu')))",
        "ResourceExhaustedError: Inlining calls and control flow would add too many nodes",
    ),
    "a choice of many branches with many inputs": (
        "function(made, 'f')\n"
        "for i in range(3000):\n    made.library.function[0].signature.input_arg.add(name=f'x{i}', type=1)\n"
        "add(made, 'i', 'Placeholder', dtype=3)\ncase = add(made, 'c', 'Case', 'i', *['a'] * 3000)\n"
        "case.attr['_lower_using_switch_merge'].b = True\ncase.attr['Tout'].list.SetInParent()\n"
        "case.attr['Tin'].list.type.extend([1] * 3000)\n"
        "for i in range(30000):\n    case.attr['branches'].list.func.add(name='f')\n"
        "print(answer(lambda: tf.place(made, 'cpu')))",
        "ResourceExhaustedError: Inlining calls and control flow would add too many nodes",
    ),
    "a name of very many scopes": (
        "add(made, '/'.join(['a'] * 300_000), 'NoOp')\nprint(answer(lambda: len(imported(made).get_operations())))",
        "answer: 2",
    ),
    "a shape of a million dimensions": (
        "const(made, 'k', [(1 << 63) - 1] * 300_000)\nplacement = tf.place(made, 'cpu')\n"
        "print(answer(lambda: str(placement.blame()).count('size')))",
        "answer: 1",
    ),
    "a gzip file that grows a thousand times": (
        "path = written('g.pb.gz', gzip.compress(b'\\x0a\\0' * (150 << 20), 1))\n"
        "print(answer(lambda: load_graph_def(path)))",
        "ResourceExhaustedError: {folder}/g.pb.gz is too large for a graph",
    ),
    "a SavedModel of a terabyte": (
        "path = written('saved_model.pb', b'')\nos.truncate(path, 1 << 40)\n"
        "print(answer(lambda: tf.place(folder, 'cpu')))",
        "ResourceExhaustedError: {folder}/saved_model.pb is too large for a graph",
    ),
    "a text nested without end": (
        "path = written('g.pbtxt', b'node { attr { key: \"a\" value { func { ' * 200_000)\n"
        "print(answer(lambda: load_graph_def(path)))",
        "DataLossError: Can't parse {folder}/g.pbtxt as text proto",
    ),
    "a machine of a million GPUs": (
        "print(answer(lambda: tf.place(made, '1000000x K40c')))",
        "ResourceExhaustedError: Too many devices to simulate: 1000000 GPU devices",
    ),
    "a machine of any number of CPUs": (
        "print(answer(lambda: tf.place(made, '9' * 5000 + ' CPU')))",
        "ResourceExhaustedError: Too many devices to simulate: more than 2**64 CPU devices",
    ),
    "a session of two billion CPUs": (
        "config = tf.ConfigProto(device_count={'CPU': (1 << 31) - 1})\n"
        "print(answer(lambda: tf.place(made, 'cpu', config)))",
        "ResourceExhaustedError: Too many devices to simulate: 2147483647 CPU devices",
    ),
    "a million virtual devices": (
        "config = tf.ConfigProto()\n"
        "config.gpu_options.experimental.virtual_devices.add(memory_limit_mb=[1] * 1_000_000)\n"
        "print(answer(lambda: tf.place(made, '1x V100', config)))",
        "ResourceExhaustedError: Too many devices to simulate: 1000000 GPU devices",
    ),
    "a visible device of five thousand digits": (
        "config = tf.ConfigProto(gpu_options=tf.GPUOptions(visible_device_list='9' * 5000))\n"
        "print(answer(lambda: tf.place(made, '1x V100', config)))",
        "InvalidArgumentError: Could not parse entry in 'visible_device_list': '999",
    ),
    "a device of five thousand digits": (
        "made.node[0].device = '/gpu:' + '9' * 5000\nprint(answer(lambda: tf.place(made, '1x V100')))",
        "InvalidArgumentError: Malformed device specification '/gpu:999",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_in_bounded_memory(name):
    program, expected = CASES[name]
    run = subprocess.run(
        [sys.executable, "-c", f"{COMMON}\n{program}\nprint(folder, file=sys.stderr)"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    folder = run.stderr.strip().splitlines()[-1]
    assert run.stdout.startswith(expected.replace("{folder}", folder)), run.stdout[:500]
