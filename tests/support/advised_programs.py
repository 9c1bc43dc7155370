"""Programs run as `Advice.as_python` says: its lines around those that build the graph."""

import re

IMPORT = "import tensorflow as tf\n"
BUILD = "    ...  # the lines that build the graph\n"
_GROUPED = re.compile(r"(.*/)?NoOp(_\d+)?")
_SUM = re.compile(r"(.*/)?gradients(_\d+)?/AddN(_\d+)?")


def build_as_advised(tf, text, build):
    """Builds a program's graph in the default graph, within what an advice says.

    Args:
        tf: gpuplace, or TensorFlow's ``compat.v1``.
        text: of `Advice.as_python`.
        build: function that builds the program's graph.
    """
    assert text.count(IMPORT) == 1 and text.endswith(BUILD), text
    text = text.replace(IMPORT, "").replace(BUILD, "    build()\n")
    exec(compile(text, "<advice>", "exec"), {"tf": tf, "build": build})


def comparable_nodes(message, placement):
    """Node -> device, by what does not change when a program is built within other devices.

    A sum of a tensor's gradients goes by what it sums, as parts of it may be summed on each device first; the NoOps
    that ``tf.group`` makes for each device are left out.

    Args:
        message: a GraphDef.
        placement: node -> device.
    """
    sums = {node.name: node.input for node in message.node if node.op == "AddN" and _SUM.fullmatch(node.name)}
    of_groups = {node.name for node in message.node if node.op == "NoOp" and _GROUPED.fullmatch(node.name)}

    def summed(text):
        parts = sums.get(text)
        return [text] if parts is None else [leaf for part in parts for leaf in summed(part)]

    return {
        f"sum of {', '.join(sorted(summed(name)))}" if name in sums else name: device
        for name, device in placement.items()
        if name not in of_groups
    }


def is_part(name):
    """Whether a name of `comparable_nodes` may be of what only the program within other devices has."""
    return name.startswith("sum of ")
