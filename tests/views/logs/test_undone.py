"""What is undone before a log is read: marks, numbers and times before lines, HTML, colours, JSON and notebooks."""

import html
import json

import pytest

import gpuplace as tf
from gpuplace.views.logs.containers import unpacked
from gpuplace.views.logs.decorations import Decorations

TASK = "/job:localhost/replica:0/task:0"
ROW = f"{TASK}/device:GPU:0 -> device: 0, name: Tesla K40c, pci bus id: 0000:05:00.0, compute capability: 3.5"
LINES = [
    "Device mapping:",
    ROW,
    f"product: (MatMul): {TASK}/device:GPU:0",
    f"layer_2/bias: (Const): {TASK}/device:CPU:0",
    "loss: 0.25",
]
NODES = {"product": f"{TASK}/device:GPU:0", "layer_2/bias": f"{TASK}/device:CPU:0"}


def check(text, *, left=("loss: 0.25",), line=3):
    """The log says what it says without its decorations; returns it."""
    log = tf.parse_log(text)
    assert dict(log) == NODES
    assert [(row.device, row.name, row.compute_capability) for row in log.devices] == [
        (f"{TASK}/device:GPU:0", "Tesla K40c", "3.5")
    ]
    assert log.types["product"] == "MatMul"
    assert [piece.text for piece in log.unparsed] == list(left)
    assert log.rows[0].line == line
    return log


MARKS = ["# ", "## ", "#", "// ", "//", "> ", "> > ", ">", "* ", "- ", "; ", "-- ", "$ ", "% ", "|| ", "=> "]


@pytest.mark.parametrize("mark", MARKS)
def test_marks_before_every_line(mark):
    log = check("\n".join(mark + line for line in LINES))
    assert (1, "undone", f"{mark!r} before lines") in log.notes
    assert log.unparsed[0][:2] == (5, len(mark))


@pytest.mark.parametrize(
    "form",
    [
        "{n} {line}",
        "{n}: {line}",
        "{n}. {line}",
        "{n}) {line}",
        "{n:6}\t{line}",
        "{n}:{line}",
        "train.out:{n}:{line}",
        "  {n}| {line}",
        "[2019-03-0{n} 10:00:0{n}] {line}",
        "2019-03-04T10:00:0{n}.123456789Z {line}",
        "2019-03-04T10:00:0{n}.123456789Z stdout F {line}",
        "2019-03-04 10:00:0{n},250 INFO {line}",
        "[INFO] {line}",
        "INFO: {line}",
        "trainer_{n}  | {line}",
        "[1,{n}]<stdout>:{line}",
        "(pid=4{n}) {line}",
        "Mar  {n} 10:00:00 node7 trainer[123{n}]: {line}",
        "INFO\t2019-03-04 10:00:0{n} +0000\tmaster-replica-0\t\t{line}",
        "worker-0: {line}",
    ],
)
def test_numbers_times_and_names_before_lines(form):
    check("\n".join(form.format(n=number, line=line) for number, line in enumerate(LINES, 1)))


def test_decorations_of_several_tasks():
    names = ["ps_0     | ", "worker_1 | ", "worker_1 | ", "worker_1 | ", "ps_0     | "]
    lines = [name + line for name, line in zip(names, LINES, strict=True)]
    log = check("\n".join(lines))
    assert [note.line for note in log.notes if note.kind == "undone"] == [1, 2]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("`", "`"),
        ("**", "**"),
        ("| ", " |"),
        ('      "', '\\n",'),
        ("'", "',"),
        ('"', '"'),
        ('2019-03-04,"', '",INFO'),
    ],
)
def test_marks_around_lines(before, after):
    check("\n".join(f"{before}{line}{after}" for line in LINES))


def test_a_row_that_was_wrapped_between_words_goes_on_behind_the_mark():
    rows = [
        "# Device mapping:",
        f"# {TASK}/gpu:0 -> device: 0, name: Tesla K40c, pci bus",
        "# id: 0000:05:00.0",
        f"# b: {TASK}/gpu:0",
        "#",
        f"# MatMul: {TASK}/gpu:0",
    ]
    log = tf.parse_log("\n".join(rows))
    assert log.devices[0].pci_bus_id == "0000:05:00.0"
    assert dict(log) == {"b": f"{TASK}/gpu:0", "MatMul": f"{TASK}/gpu:0"} and not log.unparsed


def test_line_numbers_are_no_nodes():
    """ "2: /job:..." would be a node of TensorFlow 0.5 to 0.11."""
    lines = [f"{number}: {line}" for number, line in enumerate(LINES, 1)]
    assert "2" not in tf.parse_log("\n".join(lines))


@pytest.mark.parametrize(
    "line", ["see the Device mapping: below", "the job (a: Device mapping:", f"I wrote it down: {TASK}"]
)
def test_prose_is_no_decoration(line):
    assert not Decorations([line])
    assert not tf.parse_log(line).sessions[0].devices


@pytest.mark.parametrize("between", ["", " ", "   "])
def test_header_and_first_row_on_one_line(between):
    check("\n".join([LINES[0] + between + LINES[1], *LINES[2:]]), line=2)
    check(f"# {LINES[0]}{between}{LINES[1]}\n" + "\n".join(f"# {line}" for line in LINES[2:]), line=2)


def test_all_on_one_line():
    log = tf.parse_log(" ".join(LINES[:4]))
    assert dict(log) == NODES and len(log.devices) == 1 and not log.unparsed


@pytest.mark.parametrize(
    "form",
    [
        "{line}\n",
        "{line}<br>\n",
        "{line}<br/>",
        "<span class='o'>{line}</span>\n",
        "<tr><td>{line}</td></tr>\n",
        '<div class="line" id="x">{line}</div>\n',
    ],
)
def test_html(form):
    text = "".join(form.format(line=html.escape(line)) for line in LINES)
    assert "-&gt;" in text
    log = check(f"<pre>{text}</pre>", line=1 if "\n" not in form else 3)
    assert "undone" in {note.kind for note in log.notes}


@pytest.mark.parametrize("escape", ["\x1b", "^[", "\\x1b", "\\033", ""])
def test_colours(escape):
    check("\n".join(f"{escape}[1;31m{line}{escape}[0m" for line in LINES))
    check("\n".join(line.replace("product", f"{escape}[32mproduct{escape}[0m") for line in LINES))


@pytest.mark.parametrize(
    "entry",
    [
        lambda line: {"log": line + "\n", "stream": "stdout", "time": "2019-03-04T10:00:00Z"},
        lambda line: {"message": line, "level": "INFO"},
        lambda line: {"insertId": "k", "textPayload": line, "severity": "INFO"},
        lambda line: {"jsonPayload": {"message": line, "levelname": "INFO"}, "logName": "train"},
        lambda line: {"time": 1, "msg": line},
    ],
    ids=["log", "message", "textPayload", "jsonPayload", "msg"],
)
def test_entries_of_json(entry):
    entries = [entry(line) for line in LINES]
    log = check("\n".join(map(json.dumps, entries)))
    assert any(note.kind == "undone" and note.text.startswith("JSON: field '") for note in log.notes)
    check("start\n" + "\n".join(map(json.dumps, entries)), left=("start", "loss: 0.25"), line=4)
    check(json.dumps(entries, indent=1), line=1)
    check(json.dumps(entry("\n".join(LINES))), line=1)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    "wrap",
    [
        lambda entries: {"entries": entries, "nextPageToken": "x"},
        lambda entries: {"hits": {"total": 5, "hits": [{"_source": entry} for entry in entries]}},
        lambda entries: [{"events": entries[:2]}, {"events": entries[2:]}],
    ],
    ids=["entries", "hits", "lists"],
)
def test_entries_inside_of_an_answer(wrap, indent):
    check(json.dumps(wrap([{"timestamp": 1, "message": line} for line in LINES]), indent=indent), line=1)


def test_entries_of_several_lines_each():
    """As `gcloud logging read --format=json` and `jq` print them."""
    entries = [json.dumps({"insertId": "k", "textPayload": line}, indent=2) for line in LINES]
    check("\n".join(entries), line=9)


@pytest.mark.parametrize(
    "form",
    [
        "trainer_{n}  | {json}",
        "2019-03-04T10:00:0{n}Z stdout F {json}",
        'time="2019" level=info msg="{line}"',
    ],
)
def test_entries_after_a_name_and_pairs(form):
    check(
        "\n".join(
            form.format(n=number, line=line, json=json.dumps({"message": line}))
            for number, line in enumerate(LINES, 1)
        )
    )


@pytest.mark.parametrize("written", [json.dumps, repr, lambda text: json.dumps(text)[1:-1]])
def test_line_breaks_written_as_two_characters(written):
    text = "\n".join(LINES)
    log = check("before\n" + written(text), left=("before", "loss: 0.25"), line=2)
    assert log.notes[0].text == "escaped line breaks" or log.notes[-2].text == "escaped line breaks"
    check(repr([f"{line}\n" for line in LINES]), line=1)
    check(repr(text.encode()), line=1)


def test_a_path_is_no_line_break():
    log = tf.parse_log("\n".join([*LINES[:4], r"saved to C:\new\model"]))
    assert log.unparsed[0].text == r"saved to C:\new\model" and len(log.notes) == 1


def test_a_line_that_a_container_cut():
    whole = "".join(f"{line}\n" for line in LINES)
    cut = whole.index("product") + 12
    parts = [whole[:cut], *whole[cut:].splitlines(keepends=True)]
    text = "\n".join(json.dumps({"log": part}) for part in parts)
    check(text, line=1)


def test_json_that_is_no_log():
    assert (
        unpacked('{"a": 1}') is None
        and unpacked('{"log": 5}\n[1]') is None
        and unpacked("{" * 50_000) is None
    )
    assert unpacked("[" * 50_000) is None
    assert not tf.parse_log('{"log": 5}')


def notebook(outputs):
    cell = {"cell_type": "code", "source": LINES, "metadata": {}, "execution_count": 1, "outputs": outputs}
    return {"cells": [{"cell_type": "markdown", "source": LINES}, cell], "metadata": {}, "nbformat": 4}


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("is_list", [True, False])
def test_outputs_of_a_notebook(indent, is_list, tmp_path):
    text = "".join(f"{line}\n" for line in LINES)
    said = text.splitlines(keepends=True) if is_list else text
    stream = {"output_type": "stream", "name": "stdout", "text": said}
    shown = {"output_type": "execute_result", "data": {"text/plain": said, "image/png": "x"}, "metadata": {}}
    for output in (stream, shown):
        made = json.dumps(notebook([output]), indent=indent)
        log = check(made)
        assert log.notes[0].text == "notebook: 1 output"
        path = tmp_path / "train.ipynb"
        path.write_text(made)
        assert dict(tf.parse_log(path)) == NODES
    old = {"worksheets": [notebook([stream])], "nbformat": 3}
    check(json.dumps(old, indent=indent))


def test_notes_are_in_frames_and_on_the_command_line(tmp_path, capsys):
    from gpuplace.cli.main import main

    text = "\n".join(f"# {line}" for line in LINES) + f"\n# broken: (Add): {TASK}/dev\n# and on"
    log = tf.parse_log(text)
    kinds = [(note.line, note.kind) for note in log.notes]
    assert kinds == [(1, "undone"), (6, "cut"), (5, "ignored")]
    assert log.notes[1].text.startswith("broken: (Add): ")
    frame = log.frame()
    assert frame.attrs["notes"][0] == "line 1, undone: '# ' before lines"
    assert list(log.frame("notes")["kind"]) == ["undone", "cut", "ignored"]
    path = tmp_path / "run.log"
    path.write_text(text)
    assert main(["log", str(path)]) == 0
    assert "note: line 1, undone: '# ' before lines" in capsys.readouterr().err
    assert main(["log", str(path), "--show", "notes", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[1]["kind"] == "cut"


def test_two_readings_are_a_note():
    """What is before the interruption may be the beginning of a name, or a word of its own."""
    text = (
        "abI tensorflow/core/common_runtime/placer.cc:54] x: (Neg)/job:localhost/replica:0/task:0/cpu:0\n"
        f"c: (Neg): {TASK}/cpu:0"
    )
    assert [(note.line, note.kind) for note in tf.parse_log(text).notes][:1] == [(1, "ambiguous")]


def test_plain_logs_have_no_notes():
    assert tf.parse_log("\n".join(LINES[:4])).notes == ()


SLOW = {
    "bars": lambda n: "x|" * n + ":",
    "marks": lambda n: "# " * n + "Device mapping:",
    "entities": lambda n: "/job:" + "&gt;" * n,
    "colours": lambda n: "/job:" + "[31m" * n,
    "escapes": lambda n: "/job:" + "\x1b[31m" * n,
    "headers": lambda n: f"Device mapping: {TASK}/" * (n // 10),
    "tags": lambda n: "/job:" + "<span " * n,
    "escaped": lambda n: "Device mapping:\\n" * (n // 10) + "/job:",
    "pairs": lambda n: 'level=info msg="' + "\\" * n,
    "objects": lambda n: '{"a":' * n,
}


@pytest.mark.parametrize("name", SLOW)
def test_time_in_proportion_to_the_text(name):
    """In proportion to its square, each of these would take many minutes."""
    log = tf.parse_log(SLOW[name](100_000) + f"\n\n{LINES[2]}\n")
    assert log["product"] == NODES["product"]
