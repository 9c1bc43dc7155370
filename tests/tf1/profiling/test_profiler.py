"""`tf.profiler`, beside what TensorFlow 1.15.5 printed and returned for the same graphs."""

import gzip
import json
import sys
from pathlib import Path

import pytest

import gpuplace as tf
from gpuplace.errors import InvalidArgumentError, UnimplementedError
from gpuplace.tf1.profiling.messages import ProfileProto
from gpuplace.tf1.profiling.report import VIEWS
from gpuplace.tf1.profiling.views.introsort import introsorted
from tests.tf1.profiling import programs

RECORDED = json.loads(gzip.decompress((Path(__file__).parent / "data/profiler-1.15.json.gz").read_bytes()))
OPTIONS = programs.options(tf.profiler.ProfileOptionBuilder)
NET = tf.profiler.ProfileOptionBuilder


def quiet(options):
    return NET(options).with_empty_output().build()


def as_json(value):
    return json.loads(json.dumps(value))


@pytest.mark.parametrize("name", RECORDED["profiles"])
def test_profiles(name, capsys):
    program, measured, cmd, asked = name.split(", ")
    programs.PROGRAMS[program](tf)
    step = programs.step(tf) if measured == "step" else None
    message = tf.profiler.profile(tf.get_default_graph(), step, None, cmd, OPTIONS[asked])
    text, recorded = RECORDED["profiles"][name]
    assert capsys.readouterr().out == text
    assert as_json(programs.plain(message)) == recorded


def test_every_option_is_recorded():
    assert {name.split(", ")[3] for name in RECORDED["profiles"]} == set(OPTIONS)
    assert {name.split(", ")[0] for name in RECORDED["profiles"]} == set(programs.PROGRAMS)


def test_two_steps_and_advice(capsys):
    programs.perceptron(tf)
    options = NET.time_and_memory()
    profiler = tf.profiler.Profiler(tf.get_default_graph())
    profiler.add_step(2, programs.step(tf))
    step = programs.step(tf)
    step.step_stats.dev_stats[0].node_stats[0].op_end_rel_micros = 18
    profiler.add_step(5, step)
    profiler.profile_operations(options)
    profiler.profile_name_scope({**options, "step": 5})
    checks = ("AcceleratorUtilizationChecker", "OperationChecker")
    advice = profiler.advise({name: {} for name in checks})
    text, recorded = RECORDED["advice"]
    assert capsys.readouterr().out == text
    assert as_json(programs.plain(advice)) == recorded
    kept = ProfileProto.FromString(profiler.serialize_to_string())
    assert list(kept.steps) == [2, 5] and kept.miss_accelerator_stream is False
    product = next(node for node in kept.nodes.values() if node.name == "net/MatMul")
    assert product.float_ops == 640 and sorted(product.execs) == [2, 5]
    assert [kept.nodes[product.inputs[at]].name for at in (0, 1)] == ["x", "w/read"]


def test_default_is_parameters_of_trainable_variables(capsys):
    programs.perceptron(tf)
    assert tf.profiler.profile().total_parameters == 44
    assert "-account_type_regexes       _trainable_variables" in capsys.readouterr().out


def test_a_measured_step_of_ours():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    tf.multiply(x, x, name="y")
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        session.run(
            "y:0",
            {x: [[1, 2, 3]] * 5},
            options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE),
            run_metadata=metadata,
        )
    found = tf.profiler.profile(
        run_meta=metadata, cmd="op", options=quiet({**OPTIONS["operations"], "min_float_ops": 0})
    )
    product = found.children[0]
    assert (product.name, product.float_ops, product.graph_nodes[0].run_count) == ("Mul", 15, 1)
    assert product.exec_micros > 0 and product.output_bytes >= 60
    assert tf.get_default_graph().get_tensor_by_name("y:0").shape == [5, 3]


def test_lines_of_python(capsys):
    programs.perceptron(tf)
    show = NET().with_node_names(show_name_regexes=[".*programs.py.*"]).select(["params", "float_ops"])
    found = tf.profiler.profile(cmd="code", options=show.build())
    lines = [line for line in capsys.readouterr().out.splitlines() if "programs.py" in line]
    assert any(line.strip().startswith("programs.py:") and "perceptron (0/" in line for line in lines)
    assert any("perceptron (gradient)" in line for line in lines)
    scope = tf.profiler.profile(options=quiet(OPTIONS["operations"]))
    forward = [child for child in found.children if "(gradient)" not in child.name]
    assert 0 < sum(child.total_float_ops for child in forward) <= scope.total_float_ops
    assert sum("(gradient)" in child.name for child in found.children) > 1


def test_types_of_an_op_log():
    programs.perceptron(tf)
    log = tf.profiler.OpLogProto()
    log.log_entries.add(name="net/MatMul", types=["mine"], float_ops=7)
    before = log.SerializeToString()
    options = {**OPTIONS["operations"], "account_type_regexes": ["mine"], "output": "none"}
    assert tf.profiler.profile(op_log=log, options=options).total_float_ops == 7
    assert log.SerializeToString() == before


def test_write_op_log(tmp_path):
    programs.perceptron(tf)
    tf.profiler.write_op_log(None, str(tmp_path))
    log = tf.profiler.OpLogProto.FromString((tmp_path / "tfprof_log").read_bytes())
    entries = {entry.name: entry for entry in log.log_entries}
    assert entries["net/MatMul"].float_ops == 640 and list(entries["w"].types) == ["_trainable_variables"]
    traces = [
        (log.id_to_string[one.file_id], log.id_to_string[one.line_id])
        for one in entries["net/MatMul"].code_def.traces
    ]
    assert any(file.endswith("programs.py") and "tf.matmul(x, w)" in line for file, line in traces)


def test_files_and_timelines(tmp_path, capsys):
    programs.perceptron(tf)
    written = NET(OPTIONS["operations"]).with_file_output(str(tmp_path / "out")).build()
    tf.profiler.profile(options=written)
    printed = RECORDED["profiles"]["perceptron, none, scope, operations"][0]
    text = (tmp_path / "out").read_text()
    assert text in printed and text.startswith("\nDoc:\n")
    timeline = NET(OPTIONS["times"]).with_timeline_output(str(tmp_path / "line")).build()
    tf.profiler.profile(run_meta=programs.step(tf), options=timeline)
    events = json.loads((tmp_path / "line_-1").read_text())["traceEvents"]
    regions = {event["name"]: event for event in events if event["ph"] == "X"}
    assert regions["only_ran"]["dur"] == 3500000 and regions["_TFProfRoot"]["dur"] > 3500000
    assert "Timeline file is written to" in capsys.readouterr().out


def test_what_is_refused(capsys):
    with pytest.raises(InvalidArgumentError, match="unknown cmd: zoo"):
        tf.profiler.profile(cmd="zoo")
    with pytest.raises(UnimplementedError, match="pprof"):
        tf.profiler.profile(options=NET().with_pprof_output("x").build())
    with pytest.raises(UnimplementedError, match="graph view has no timeline"):
        tf.profiler.profile(cmd="graph", options=NET().with_timeline_output("x").build())
    tf.profiler.profile(options={"output": "zoo"})
    assert capsys.readouterr().err == (
        "Invalid argument: E.g. Unknown output type: zoo, Valid types: file,none,pprof,stdout,timeline\n\n"
    )


@pytest.mark.parametrize("cmd", VIEWS)
def test_deep_graphs(cmd):
    x = tf.constant(1.0)
    for _ in range(sys.getrecursionlimit() + 100):
        x = tf.negative(x)
    found = tf.profiler.profile(cmd=cmd, options=quiet(OPTIONS["operations"]))
    assert found.total_float_ops == sys.getrecursionlimit() + 100


def test_the_order_of_equal_ones_is_a_sort():
    items = [(i * 7 % 5, i) for i in range(60)]
    found = introsorted(items, lambda one, other: one[0] < other[0])
    assert [one[0] for one in found] == sorted(one[0] for one in items) and sorted(found) == sorted(items)
