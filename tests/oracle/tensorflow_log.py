"""Twelve programs in the style of TensorFlow's tutorials, with its log captured and, as a judge, in a file.

    python tests/oracle/tensorflow_log.py [--record] [NAME ...]

run with TensorFlow 2.21 and gpuplace in one environment runs every program of ``tensorflow_programs`` (or the named
ones) three times: with its output in files, in `gpuplace.capture_log`, and by `gpuplace watch`. It prints a line for
each and, as its exit code, the number of those where

- the ops by device differ between the three, or the output of the program does;
- a line that names a device is neither in a table nor among the notes;
- TensorFlow's options are not as before the block, or its log cannot be switched on once more;
- `gpuplace.compare` of the program's functions and models with the log has an unexplained difference.

``--record`` writes the logs for the tests of the suite, ``tests/data/tensorflow_logs.json.xz``.
"""

import json
import lzma
import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = sorted(path.stem for path in (HERE / "tensorflow_programs").glob("*.py"))
RECORDED = HERE.parent / "data" / "tensorflow_logs.json.xz"
SWITCH = "import tensorflow as tf; tf.debugging.set_log_device_placement(True)"


def counts(log):
    """The ops by device: [device, op, nodes, eager]. Numbers that TensorFlow gives functions are left out."""
    from gpuplace.views.logs.op_rows import op_rows

    sums = {}
    for row in op_rows(log):
        op = row.op.rstrip("0123456789") if row.op.startswith("__") else row.op
        nodes, eager = sums.get((row.device, op), (0, 0))
        sums[row.device, op] = nodes + row.nodes, eager + row.eager
    return sorted([*key, *value] for key, value in sums.items())


def left_out(log, *texts):
    """Lines that name a device and are in no table."""
    named = sum(text.count("/job:") for text in texts)
    return [left.text for left in log.unparsed if "/job:" in left.text] if named else ["no device is named"]


def one(path, folder):
    """Run a program in a capture, and write the facts as JSON."""
    import tensorflow as tf

    import gpuplace

    options = [tf.config.get_soft_device_placement(), tf.debugging.get_log_device_placement()]
    with gpuplace.capture_log() as log:
        names = runpy.run_path(path)
    after = [tf.config.get_soft_device_placement(), tf.debugging.get_log_device_placement()]
    with tf.device("/gpu:0"):
        tf.math.sinh(1.0)  # an error if soft placement is not what it was
    with gpuplace.capture_log() as late:
        tf.math.cosh(1.0)
    late_ops = [event.op for event in late.placement.events]
    things = {}
    for name, value in names.items():
        is_function = hasattr(value, "get_concrete_function") and value._list_all_concrete_functions()
        if is_function or (isinstance(value, tf.keras.Model) and value.built):
            things[name] = value
    unexplained, same = [], 0
    for name, value in things.items():
        found = gpuplace.compare(value, log)
        same += found.same
        unexplained += [f"{name}: {row}" for row in found.unexplained]
    facts = {
        "counts": counts(log.placement),
        "left": left_out(log.placement, log.stdout, log.stderr),
        "options": [options, after],
        "unexplained": unexplained,
        "compared": same,
        "late": late_ops,
    }
    Path(folder, "facts.json").write_text(json.dumps(facts))


def run(words, folder, name):
    """A process with its output in files; both texts."""
    out, err = Path(folder, f"{name}.out"), Path(folder, f"{name}.err")
    with open(out, "wb") as stdout, open(err, "wb") as stderr:
        subprocess.run([sys.executable, *words], stdout=stdout, stderr=stderr, check=True)
    return out.read_text(), err.read_text()


def said(text):
    """What the program itself printed."""
    return [
        line
        for line in text.splitlines()
        if "/job:" not in line and line != "Device mapping: no known devices."
    ]


def check(name):
    """The facts of a program: what is wrong, and the log in files."""
    from gpuplace.views.logs.parser import parse_log

    path = str(HERE / "tensorflow_programs" / f"{name}.py")
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "program.py")
        program.write_text(f"{SWITCH}\nimport runpy\nrunpy.run_path({path!r})\n")
        out, err = run([str(program)], folder, "alone")
        log = parse_log(f"{out}\n{err}")
        expected = counts(log)
        watched_out, watched_err = run(
            ["-m", "gpuplace", "watch", "-o", f"{folder}/page.html", "--", sys.executable, str(program)],
            folder,
            "watched",
        )
        if counts(parse_log(f"{watched_out}\n{watched_err}")) != expected or said(watched_out) != said(out):
            wrong.append("watch")
        run([__file__, "--one", path, folder], folder, "captured")
        facts = json.loads(Path(folder, "facts.json").read_text())
    if facts["counts"] != expected:
        missing = [row for row in expected if row not in facts["counts"]]
        more = [row for row in facts["counts"] if row not in expected]
        wrong.append(f"counts: {missing[:4]} in the file, {more[:4]} captured")
    wrong += [f"left out: {text}" for text in [*left_out(log, out, err), *facts["left"]]]
    wrong += [] if facts["options"][0] == facts["options"][1] else [f"options: {facts['options']}"]
    wrong += [] if "Cosh" in facts["late"] else [f"switched on again: {facts['late']}"]
    wrong += facts["unexplained"]
    nodes, eager = len(log.rows), len(log.events)
    told = f"{name:<16}{nodes:>6} nodes {eager:>5} eager {facts['compared']:>5} compared"
    print(f"{'WRONG' if wrong else 'equal':<7}{told}", flush=True)
    for text in wrong:
        print("  ", text)
    return bool(wrong), {"stdout": out, "stderr": err, "ops": expected}


def main(words):
    """Check the programs, and record their logs if asked to."""
    record = "--record" in words
    names = [word for word in words if word != "--record"] or PROGRAMS
    wrong, logs = 0, {}
    for name in names:
        is_wrong, logs[name] = check(name)
        wrong += is_wrong
    if record:
        text = json.dumps(logs, sort_keys=True).encode()
        RECORDED.write_bytes(lzma.compress(text, preset=9))
    return wrong


if __name__ == "__main__":
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    if sys.argv[1:2] == ["--one"]:
        one(*sys.argv[2:])
    else:
        sys.exit(main(sys.argv[1:]))
