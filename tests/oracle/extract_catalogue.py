"""Write the op and kernel catalogues of an installed TensorFlow as gpuplace's data files.

The files hold facts, no code: every op definition and every kernel registration of one TensorFlow build, in
TensorFlow's own notation. Run this where TensorFlow is installed; gpuplace itself is not needed:

    python tests/oracle/extract_catalogue.py OUT          # 2.21.0 on Python 3.11, or 1.15.5 (tensorflow-gpu) on 3.7

writes ``OUT/graph/data/ops-<release>.txt.gz`` and ``OUT/kernels/data/kernels-<release>.txt.gz`` (OUT is the
``gpuplace`` folder to refresh the package's own files), the same bytes each time. ``--show`` prints them instead.

Ops are sorted by name and kernel rows by device type, label, descending priority and constraints: TensorFlow keeps
its kernels in a hash map, so their order there means nothing.
"""

from __future__ import print_function

import argparse
import gzip
import io
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np

OPS_HEADER = """\
# gpuplace data, format 1: op definitions
# Facts extracted from an installed TensorFlow by tests/oracle/extract_catalogue.py.
# tensorflow: {version}
# release: {release}
# ops: {ops}
# One block per op, in TensorFlow's notation: "<" an input, ">" an output, "c" a control output, ":" an attribute,
# "!" further properties.
"""

KERNELS_HEADER = """\
# gpuplace data, format 1: kernel registrations
# Facts extracted from an installed TensorFlow by tests/oracle/extract_catalogue.py.
# tensorflow: {version}
# release: {release}
# ops: {ops}
# kernels: {kernels}
# One block per op, one line per registration: the device type, then attribute=allowed values, host:arguments kept in
# host memory, priority:number unless it is 0, label:name unless it is empty.
"""


def type_name(enum):
    """The name of a DataType as the C++ code prints it, ``float`` and not ``float32``."""
    from tensorflow.core.framework import types_pb2

    name = types_pb2.DataType.Name(enum % 100)[len("DT_") :].lower()
    return "Ref(%s)" % name if enum > 100 else name


def quoted(data):
    """A byte string between double quotes, everything outside printable ASCII as ``\\xNN``."""
    out = []
    for byte in bytearray(data):
        char = chr(byte)
        out.append(char if 32 <= byte < 127 and char not in '"\\' else "\\x%02x" % byte)
    return '"%s"' % "".join(out)


def shape_text(shape):
    """``[2,?]``, or ``<unknown>`` for a shape of unknown rank."""
    if shape.unknown_rank:
        return "<unknown>"
    return "[%s]" % ",".join("?" if dim.size < 0 else str(dim.size) for dim in shape.dim)


def tensor_text(tensor):
    """A small tensor in full, as in the attributes of an error message."""
    try:
        from tensorflow.python.framework.tensor_util import MakeNdarray
    except ImportError:
        from tensorflow.python.framework import tensor_util

        MakeNdarray = tensor_util.make_ndarray
    values = MakeNdarray(tensor).ravel().tolist()
    shape = shape_text(tensor.tensor_shape)
    return "Tensor<type: %s shape: %s values: %s>" % (
        type_name(tensor.dtype),
        shape,
        " ".join(map(str, values)),
    )


def value_text(value, attr_type):
    """An AttrValue of ``attr_type`` in the notation of op registrations."""
    if attr_type.startswith("list("):
        inner = attr_type[len("list(") : -1]
        field = {"string": "s", "int": "i", "float": "f", "bool": "b", "type": "type"}.get(inner, inner)
        return "[%s]" % ", ".join(one_text(item, inner) for item in getattr(value.list, field))
    field = {"string": "s", "int": "i", "float": "f", "bool": "b", "type": "type"}.get(attr_type, attr_type)
    return one_text(getattr(value, field), attr_type)


def one_text(item, kind):
    if kind == "string":
        return quoted(item)
    if kind == "int":
        return str(item)
    if kind == "float":
        return str(float(str(np.float32(item))))
    if kind == "bool":
        return "true" if item else "false"
    if kind == "type":
        return "DT_" + type_name(item).upper()
    if kind == "shape":
        return shape_text(item)
    if kind == "tensor":
        return tensor_text(item)
    if kind == "func" and not item.attr:
        return item.name
    raise ValueError("no notation for a default of type " + kind)


def arg_text(arg):
    if arg.type_list_attr:
        text = arg.type_list_attr
    else:
        text = arg.type_attr or type_name(arg.type)
    if arg.number_attr:
        text = "%s * %s" % (arg.number_attr, text)
    if arg.is_ref:
        text = "Ref(%s)" % text
    return "%s: %s" % (arg.name, text)


def attr_text(attr):
    text = attr.type
    if attr.HasField("allowed_values"):
        inner = attr.type[len("list(") : -1] if attr.type.startswith("list(") else attr.type
        if inner == "type":
            allowed = [type_name(enum) for enum in attr.allowed_values.list.type]
        else:
            allowed = [quoted(data) for data in attr.allowed_values.list.s]
        braces = "{%s}" % ", ".join(allowed)
        text = "list(%s)" % braces if attr.type.startswith("list(") else braces
    if attr.has_minimum:
        text += " >= %d" % attr.minimum
    if attr.HasField("default_value"):
        text += " = " + value_text(attr.default_value, attr.type)
    return "%s: %s" % (attr.name, text)


def op_block(op):
    lines = [op.name]
    lines += ["< " + arg_text(arg) for arg in op.input_arg]
    lines += ["> " + arg_text(arg) for arg in op.output_arg]
    lines += ["c " + name for name in getattr(op, "control_output", [])]
    lines += [": " + attr_text(attr) for attr in op.attr]
    for flag in ("stateful", "commutative", "aggregate"):
        if getattr(op, "is_" + flag):
            lines.append("! " + flag)
    if op.allows_uninitialized_input:
        lines.append("! allows_uninitialized_input")
    if getattr(op, "is_distributed_communication", False):
        lines.append("! distributed_communication")
    if op.HasField("deprecation"):
        lines.append("! deprecated %d %s" % (op.deprecation.version, op.deprecation.explanation))
    return "\n".join(lines) + "\n"


def constraint_text(constraint):
    values = constraint.allowed_values.list
    parts = [type_name(enum) for enum in sorted(set(values.type))]
    parts += [quoted(data) for data in sorted(values.s)]
    parts += [str(number) for number in sorted(values.i)]
    parts += ["true" if flag else "false" for flag in sorted(values.b)]
    text = "%s=%s" % (constraint.name, ",".join(parts))
    if " " in text or "\n" in text:
        raise ValueError("a constraint with a blank in it: " + text)
    return text


def kernel_line(kernel):
    parts = [kernel.device_type] + [constraint_text(constraint) for constraint in kernel.constraint]
    if kernel.host_memory_arg:
        parts.append("host:" + ",".join(sorted(set(kernel.host_memory_arg))))
    if kernel.priority:
        parts.append("priority:%d" % kernel.priority)
    if kernel.label:
        parts.append("label:" + kernel.label)
    return " ".join(parts)


def kernel_key(kernel):
    types = tuple((c.name, tuple(sorted(c.allowed_values.list.type))) for c in kernel.constraint)
    return (kernel.device_type, kernel.label, -kernel.priority, types, kernel_line(kernel))


def registered():
    """(version, list of OpDef, list of KernelDef) of the TensorFlow that is installed here."""
    import tensorflow as tf
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.framework import kernels

    try:
        from tensorflow.python.client import pywrap_tf_session as c_api
    except ImportError:
        c_api = None
    if not hasattr(c_api, "TF_GetAllOpList"):
        from tensorflow.python import pywrap_tensorflow as c_api
    ops = op_def_pb2.OpList()
    ops.ParseFromString(c_api.TF_GetBuffer(c_api.TF_GetAllOpList()))
    return tf.__version__, list(ops.op), list(kernels.get_all_registered_kernels().kernel)


def extract():
    """(release, text of the op file, text of the kernel file)."""
    version, ops, kernels = registered()
    release = ".".join(version.split(".")[:2])
    by_op = {}
    for kernel in sorted(kernels, key=kernel_key):
        by_op.setdefault(kernel.op, []).append(kernel_line(kernel) + "\n")
    facts = dict(version=version, release=release, kernels=len(kernels))
    ops_text = OPS_HEADER.format(ops=len(ops), **facts)
    ops_text += "".join("\n" + op_block(op) for op in sorted(ops, key=lambda op: op.name))
    kernels_text = KERNELS_HEADER.format(ops=len(by_op), **facts)
    kernels_text += "".join("\n%s\n%s" % (name, "".join(by_op[name])) for name in sorted(by_op))
    return release, ops_text, kernels_text


def compressed(text):
    """gzip bytes without a name or a time in them."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=buffer, mode="wb", compresslevel=9, mtime=0) as stream:
        stream.write(text.encode("utf-8"))
    return buffer.getvalue()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", nargs="?", help="folder to write into")
    parser.add_argument("--show", action="store_true", help="print the texts instead")
    args = parser.parse_args()
    release, ops_text, kernels_text = extract()
    if args.show or not args.out:
        print(ops_text + "\n" + kernels_text, end="")
        return
    for folder, kind, text in (("graph", "ops", ops_text), ("kernels", "kernels", kernels_text)):
        path = os.path.join(args.out, folder, "data", "%s-%s.txt.gz" % (kind, release))
        if not os.path.isdir(os.path.dirname(path)):
            os.makedirs(os.path.dirname(path))
        with open(path, "wb") as stream:
            stream.write(compressed(text))
        print("%s: %d bytes, %d as text" % (path, os.path.getsize(path), len(text)))


if __name__ == "__main__":
    main()
