"""Logs that are mixed, wrapped, prefixed and damaged at random: what is understood is true, and nothing is lost."""

import random
import re

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from gpuplace.views.logs.parser import parse_log
from tests.views.logs.log_samples import PLACER, TIME
from tests.views.logs.test_log_samples import rebuilt

TYPES = st.sampled_from(["Const", "MatMul", "_Arg", "VariableV2", "Identity"])
NAMES = st.from_regex(r"[A-Za-z0-9.][A-Za-z0-9_./-]{0,60}", fullmatch=True)
DEVICES = st.builds(
    "/job:{}/replica:0/task:{}/{}".format,
    st.sampled_from(["localhost", "worker", "ps"]),
    st.integers(0, 12),
    st.one_of(
        st.builds(
            "device:{}:{}".format, st.sampled_from(["CPU", "GPU", "XLA_GPU", "TPU"]), st.integers(0, 16)
        ),
        st.sampled_from(["cpu:0", "gpu:0", "gpu:3", "gpu:11"]),
    ),
)
NODES = st.dictionaries(NAMES, st.tuples(TYPES, DEVICES), min_size=1, max_size=12)
PREFIXES = st.sampled_from(
    [
        f"{TIME}I {PLACER} ",
        "I tensorflow/core/common_runtime/simple_placer.cc:827] ",
        "I0000 00:00:1795250461.571624   28058 placer.cc:162] ",
        "I c:\\jenkins\\tensorflow\\core\\common_runtime\\placer.cc:54] ",
    ]
)
NOISE = st.sampled_from(
    [
        f"{TIME}W tensorflow/core/foo.cc:12] something else",
        "I0000 00:00:1795250454.708039   28058 port.cc:153] oneDNN custom operations are on.",
        "WARNING:tensorflow:From a.py:5: The name tf.Session is deprecated.",
    ]
)
PRINTS = st.sampled_from(
    ["[[22. 28.]", " [49. 64.]]", "step 3: loss 0.5", "2", "done", "", ">>> sess.run(c)"]
)


def node_lines(nodes: dict[str, tuple[str, str]]) -> list[str]:
    return [f"{name}: ({kind}): {device}" for name, (kind, device) in nodes.items()]


def rows_of(text: str) -> set[tuple[str, str, str]]:
    assert rebuilt(text) == text
    return {(row.name, row.type, row.device) for row in parse_log(text).rows}


def truth(nodes: dict[str, tuple[str, str]]) -> set[tuple[str, str, str]]:
    return {(name, kind, device) for name, (kind, device) in nodes.items()}


def mixed(stdout: str, stderr: list[str], cuts: list[float]) -> str:
    """Lines of stderr put into stdout at places anywhere in it."""
    places = sorted(int(cut * len(stdout)) for cut in cuts)[: len(stderr)]
    text, last = "", 0
    for place, line in zip(places, stderr, strict=False):
        text += stdout[last:place] + line + "\n"
        last = place
    return text + stdout[last:] + "".join(line + "\n" for line in stderr[len(places) :])


@given(NODES, PREFIXES, st.lists(st.floats(0, 1), max_size=12))
def test_both_copies_mixed_anywhere(nodes, prefix, cuts):
    lines = node_lines(nodes)
    text = mixed("".join(f"{line}\n" for line in lines), [prefix + line for line in lines], cuts)
    assert rows_of(text) == truth(nodes)


@given(NODES, st.lists(NOISE, max_size=6), st.lists(st.floats(0, 1), max_size=6))
def test_one_copy_mixed_with_other_lines(nodes, noise, cuts):
    """What is cut in a name may stay doubtful; what is understood is true, and the rest is given back.

    A name of digits alone may continue the number of a device that was cut before it: a second line is doubtful.
    """
    assume(not any(name.isdigit() for name in nodes))
    text = mixed("".join(f"{line}\n" for line in node_lines(nodes)), noise, cuts)
    found = rows_of(text)
    assert found <= truth(nodes)
    missing = truth(nodes) - found
    assert len(missing) <= len(noise)
    left = "".join(piece.text for piece in parse_log(text).unparsed)
    for _, _, device in missing:
        assert device[-1] in left


@given(NODES, st.lists(PRINTS, max_size=8), st.integers(0, 1000))
@example(
    {
        "2": ("Const", "/job:localhost/replica:0/task:0/device:CPU:1"),
        "1": ("Const", "/job:localhost/replica:0/task:0/device:CPU:0"),
        "0": ("Const", "/job:localhost/replica:0/task:0/cpu:0"),
    },
    ["2"],
    1,
)  # no number begins with 0
def test_results_between_the_lines(nodes, prints, seed):
    lines = node_lines(nodes)
    shuffled = random.Random(seed)
    for text in prints:
        lines.insert(shuffled.randrange(len(lines) + 1), text)
    text = "\n".join(lines)
    log = parse_log(text)
    assert rows_of(text) <= truth(nodes)
    assert truth(nodes) - rows_of(text) <= {
        (name, kind, device) for name, kind, device in truth(nodes) if not device.endswith(":0")
    }, "only a device's number, other than 0, with a number on the next line is doubtful"
    left = [piece.text for piece in log.unparsed]
    for text in prints:
        assert not text or text in left or text == "2"


@given(NODES, st.integers(24, 140), st.booleans(), PREFIXES)
@example({"tower_0/" + "x" * 80: ("Const", "/job:localhost/replica:0/task:0/device:GPU:1")}, 80, False, "")
@example({"a": ("Const", "/job:localhost/replica:0/task:0/device:GPU:12")}, 55, False, "")
@example(
    {
        "0": ("Const", "/job:localhost/replica:0/task:0/gpu:11"),
        "00": ("Identity", "/job:ps/replica:0/task:10/gpu:11"),
        "A00000000000000": ("VariableV2", "/job:worker/replica:0/task:0/device:CPU:10"),
    },
    24,
    False,
    "",
)  # two sentences in one wrapped line, the second with a doubtful number
def test_wrapped_lines(nodes, width, has_prefix, prefix):
    lines = [(prefix if has_prefix else "") + line for line in node_lines(nodes)]
    text = "\n".join(line[at : at + width] for line in lines for at in range(0, len(line), width))
    assert rows_of(text) <= truth(nodes)


@given(NODES, st.data())
def test_damaged_lines(nodes, data):
    """Whatever is understood is written in the text in just these characters."""
    text = "\n".join(node_lines(nodes))
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(text)))
        text = text[:place] + data.draw(
            st.sampled_from(
                ["", "\n", " ", ":", "\x00", "\r", "(", "/", "7", "é", "I tensorflow/a.cc:1] ", "]", "\x1b[0m"]
            )
        ) + text[place + data.draw(st.integers(0, 3)) :]  # fmt: skip
    written = squeezed(text).replace("Itensorflow/a.cc:1]", "")
    on_stdout = squeezed(
        re.sub(r"I tensorflow/a\.cc:1\][^\n]*\n?", "", text)
    )  # what stderr interrupted goes on below
    for name, _, device in rows_of(text):
        assert squeezed(name) in written or squeezed(name) in on_stdout
        assert squeezed(device) in written or squeezed(device) in on_stdout


def squeezed(text):
    """The characters that are seen: no spaces and line ends, no NULs, no codes of terminals (ECMA-48)."""
    return re.sub(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])|[\x00\s]", "", text)


@given(st.text(max_size=300))
def test_any_text(text):
    parse_log(text)
    assert rebuilt(text) == text


@given(
    st.lists(
        st.sampled_from(
            [
                "a",
                "a: ",
                "(Const)",
                ": ",
                "/job:localhost",
                "/replica:0/task:0",
                "/device:GPU:",
                "1",
                "0",
                "\n",
                " -> ",
            ]
            + [
                "Device mapping:",
                "device: 0, name: K40, pci bus id: 0000:05:00.0",
                "Executing op ",
                " in device ",
                ">>> ",
            ]
            + [
                f"{TIME}I {PLACER} ",
                "I tensorflow/x.cc:1] ",
                "Found device 0 with properties: ",
                "name: K40",
                "\x1b[1m",
                "\r",
            ]
        ),
        max_size=40,
    )
)
def test_any_tokens(tokens):
    text = "".join(tokens)
    parse_log(text)
    assert rebuilt(text) == text


@settings(max_examples=20)
@given(NODES, NODES, PREFIXES)
def test_sessions(first, second, prefix):
    """Two sessions, each with its own devices, on stdout, on stderr and on both."""

    def stream(prefix: str) -> str:
        text = ""
        for nodes in (first, second):
            text += f"{prefix}Device mapping: no known devices.\n"
            text += "".join(f"{prefix}{line}\n" for line in node_lines(nodes))
        return text

    for text in (stream(""), stream(prefix), stream("") + stream(prefix)):
        parts = parse_log(text).sessions
        assert [dict(part) for part in parts] == [
            {name: device for name, (_, device) in nodes.items()} for nodes in (first, second)
        ]
