"""Sweeps: the rows of many cases, whoever works them out, in whatever order they come."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
import types
from pathlib import Path

import pytest

import gpuplace as tf
from gpuplace.sweeps import runner, sweep_file
from gpuplace.sweeps.evaluation import COLUMNS, evaluate_batch

distributed = pytest.importorskip("distributed")
pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

MACHINES = ["2x K80", "cpu", "1x V100, links pcie=3x8"]
SOFT = {"allow_soft_placement": True}
ROOT = Path(__file__).resolve().parents[2]


def net(device="/gpu:1", width=8):
    graph = tf.Graph()
    with graph.as_default(), tf.device(device):
        images = tf.placeholder(tf.float32, [None, width], name="images")
        loss = tf.reduce_mean(tf.layers.dense(images, width), name="loss")
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")
        tf.add_to_collection("train_op", train)
        tf.identity(loss, name="shown")
    return graph


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graphs")
    for number, device in enumerate(("/gpu:0", "/gpu:1", "")):
        data = net(device).as_graph_def().SerializeToString()
        (folder / f"net{number}.pb").write_bytes(data)
    (folder / "text.pbtxt").write_text(str(net().as_graph_def()))
    (folder / "wrong.pb").write_bytes(b"no graph at all")
    return folder


@pytest.fixture(scope="module")
def client():
    """A cluster of threads in this process."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as made,
    ):
        yield made


def same(one, other):
    """Whether two sweeps have the same answers."""
    pd.testing.assert_frame_equal(
        pd.DataFrame(one.drop(columns="seconds")), pd.DataFrame(other.drop(columns="seconds"))
    )


def test_every_case_has_the_answer_of_place(graphs):
    frame = tf.sweep(str(graphs / "*"), MACHINES, [None, SOFT], releases=["1.15", "2.21"], workers=1)
    assert len(frame) == frame.attrs["cases"] == 5 * 3 * 2 * 2 and list(frame.index) == list(range(60))
    paths = sorted(map(str, graphs.iterdir()))
    order = [(path, machine) for path in paths for machine in MACHINES for _ in range(4)]
    assert list(zip(frame["graph"], frame["machine"], strict=True)) == order
    for row in frame.itertuples():
        config = None if pd.isna(row.config) else tf.ConfigProto(**SOFT)
        try:
            placement = tf.place(row.graph, row.machine, config, row.release, on_error="keep")
        except tf.errors.OpError as error:
            assert row.graph.endswith("wrong.pb") and (row.error, row.message) == (
                type(error).__name__,
                str(error),
            )
            assert pd.isna(row.nodes) and row.devices is None
            continue
        nodes = pd.DataFrame(placement.frame())
        assert row.devices == placement.counts() and row.nodes == len(placement.graph)
        assert row.on_gpu == sum(count for name, count in row.devices.items() if name.startswith("GPU"))
        assert row.soft_placed == nodes["rule"].str.startswith(("soft", "requests dropped")).sum()
        assert row.errors == len(placement.errors)
        first = placement.errors[0] if placement.errors else None
        assert (None if pd.isna(row.error) else row.error) == (type(first).__name__ if first else None)
    assert frame["soft_placed"].sum() and frame["errors"].sum()


def test_estimates_are_those_of_estimate():
    feeds = {"images": (32, 8)}
    frame = tf.sweep({"net": net("")}, MACHINES, what="estimate", feeds=feeds, workers=1)
    for row in frame.itertuples():
        step = tf.estimate(net(""), None, feeds, row.machine)
        assert (row.step_time, row.peak_memory, row.guessed) == (
            step.step_time,
            step.peak_memory,
            step.guessed,
        )
        assert (row.batch, row.rate, row.fits) == (32, 32 / step.step_time, True)
    assert frame["step_time"].nunique() == 3


def test_soft_placement_holds_for_every_machine_of_an_estimate():
    frame = tf.sweep(
        net(), ["2x K80", "cpu"], what="estimate", feeds={"images": (4, 8)}, soft_placement=True, workers=1
    )
    alone = tf.sweep(net(), "cpu", SOFT, what="estimate", feeds={"images": (4, 8)}, workers=1)
    assert frame["error"].isna().all() and frame["step_time"].iloc[1] == alone["step_time"].iloc[0]
    failed = tf.sweep(net(), ["cpu", "2x K80"], what="estimate", feeds={"images": (4, 8)}, workers=1)
    assert list(failed["error"].isna()) == [False, True]


def test_advice_is_that_of_advise():
    options = {"fetches": "loss", "feeds": {"images": (32, 8)}, "steps": 20}
    frame = tf.sweep(net(), ["2x K80"], SOFT, "advise", workers=1, **options)
    found = tf.advise(net(), machine="2x K80", config=tf.ConfigProto(**SOFT), **options)
    row = frame.iloc[0]
    assert (row["before"], row["after"], row["bound"]) == (found.before, found.value, found.bound)
    assert row["after"] < row["before"] and row["moves"] == len(found.moves)


def test_a_cluster_gives_the_same_rows(graphs, client):
    given = [
        str(graphs / "net*.pb"),
        net(),
        net().as_graph_def(),
        graphs / "lost.pb",
        tf.place(net(), "2x K80"),
    ]
    alone = tf.sweep(given, [*MACHINES, "3x nonsense"], [None, SOFT], workers=1)
    came = []
    on_cluster = tf.sweep(given, [*MACHINES, "3x nonsense"], [None, SOFT], client=client, on_row=came.append)
    same(alone, on_cluster)
    assert sorted(row["case"] for row in came) == list(range(len(alone)))
    assert set(alone["error"].dropna()) == {"InvalidArgumentError", "NotFoundError"}
    same(alone, tf.sweep(given, [*MACHINES, "3x nonsense"], [None, SOFT], client=client.scheduler.address))


def test_cases_travel_in_batches_and_graphs_once(client, monkeypatch):
    graphs = {str(width): net(width=width) for width in range(3, 9)}
    batches = []
    submit, scatter = client.submit, client.scatter
    held = []
    monkeypatch.setattr(
        client, "submit", lambda *given, **options: batches.append(given) or submit(*given, **options)
    )
    monkeypatch.setattr(
        client, "scatter", lambda *given, **options: held.append(given) or scatter(*given, **options)
    )
    monkeypatch.setattr(runner, "_LEAST_BATCH_S", 1.0)  # however slow the machine is
    configs = {str(number): {"inter_op_parallelism_threads": number} for number in range(1, 13)}
    frame = tf.sweep(graphs, MACHINES, configs, client=client)
    assert len(frame) == 216 and len(batches) < 30 and len(held) <= len(graphs)
    assert all(function is evaluate_batch for function, *_ in batches)


def test_processes_of_this_machine_need_no_guard(graphs, tmp_path):
    """A script without ``if __name__ == "__main__"``, in a running event loop as a notebook has one."""
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(f"""
        import asyncio, os
        import gpuplace as tf
        from gpuplace.sweeps import runner
        print("begin")
        runner.WORTH_S = runner._TRIAL_S = 0.0
        async def main():
            return tf.sweep({str(graphs / "*")!r}, {MACHINES!r}, workers=2, resume="saved.parquet")
        frame = asyncio.run(main())
        print(len(frame), list(frame["error"].notna()), __file__ is not None)
        """)
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=120
    )
    assert done.returncode == 0, done.stderr
    alone = tf.sweep(str(graphs / "*"), MACHINES, workers=1)
    assert done.stdout.splitlines() == ["begin", f"15 {list(alone['error'].notna())} True"]
    saved = tf.sweep(str(graphs / "*"), MACHINES, resume=tmp_path / "saved.parquet", workers=1)
    same(alone, saved)


def test_an_interrupt_ends_all_processes_with_one_line(graphs, tmp_path):
    """Ctrl-C, as a terminal sends it: to the sweep and to the workers that it started."""
    code = f"""
from gpuplace.cli.main import main
from gpuplace.sweeps import runner
from gpuplace.sweeps import sweep_file
runner.WORTH_S = runner._TRIAL_S = 0.0
runner.BATCH_S = runner._LEAST_BATCH_S = 0.01
raise SystemExit(main(["sweep", {str(graphs / "net*")!r}, "--machine", "2x K80", "--machine", "4x K80",
    "--what", "advise", "--seconds", "1", "--format", "jsonl", "--workers", "2", "--resume", "saved.parquet"]))
"""
    sweep = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    first = sweep.stdout.readline()
    os.killpg(sweep.pid, signal.SIGINT)
    others, said = sweep.communicate(timeout=120)
    rows = [first, *others.splitlines()]
    assert sweep.returncode == 130 and len(rows) < 6
    assert (
        said
        == f"gpuplace sweep: stopped after {len(rows)} of 6 cases; run the same command again to continue\n"
    )
    saved = pytest.importorskip("pyarrow.parquet").ParquetFile(tmp_path / "saved.parquet")
    assert saved.metadata.num_rows == len(rows)
    with pytest.raises(ProcessLookupError):
        for _ in range(200):  # Python's own helper ends a moment after the others
            os.killpg(sweep.pid, 0)
            time.sleep(0.05)


def test_a_case_that_kills_its_worker_is_a_row(client, monkeypatch):
    submit = client.submit

    def dies(function, question, settings, batch, *given, **options):
        """What becomes of a batch whose worker dies each time: that of case 4."""
        if 4 in distributed.protocol.pickle.loads(batch)[0]:
            return submit(_killed, pure=False)
        return submit(function, question, settings, batch, *given, **options)

    monkeypatch.setattr(client, "submit", dies)
    frame = tf.sweep({"a": net(), "b": net("")}, MACHINES, client=client)
    assert list(frame.index[frame["error"] == runner.KILLED]) == [4] and "workers" in frame["message"][4]
    assert frame["nodes"].isna().sum() == 1


def _killed():
    last = types.SimpleNamespace(address="tcp://10.0.0.2:4000")
    raise distributed.scheduler.KilledWorker("evaluate_batch", last, allowed_failures=1)


def test_workers_that_cannot_take_the_cases_are_an_error(client, monkeypatch):
    submit = client.submit
    monkeypatch.setattr(
        client, "submit", lambda *given, **options: submit(__import__, "no_gpuplace", pure=False)
    )
    with pytest.raises(tf.errors.FailedPreconditionError, match="same version of gpuplace on all workers"):
        tf.sweep(net(), client=client)


def test_the_saved_sweep_goes_on(graphs, tmp_path, monkeypatch):
    path = tmp_path / "sweep.parquet"
    came = []

    def ends(row):
        came.append(row)
        if len(came) == 7:
            raise KeyboardInterrupt

    with pytest.warns(RuntimeWarning, match=r"after 7 of 15 cases; resume='.*sweep.parquet' continues it"):
        part = tf.sweep(str(graphs / "*"), MACHINES, resume=path, on_row=ends, workers=1)
    assert list(part.index) == list(range(7)) and part.attrs["cases"] == 15
    asked = []
    row_of = runner.CaseEvaluator.row
    monkeypatch.setattr(runner.CaseEvaluator, "row", lambda *given: asked.append(given) or row_of(*given))
    whole = tf.sweep(str(graphs / "*"), MACHINES, resume=path, workers=1)
    assert len(asked) == 15 - 7  # what was told was saved
    same(whole, tf.sweep(str(graphs / "*"), MACHINES, workers=1))
    asked.clear()
    more = tf.sweep(str(graphs / "*"), [*MACHINES, "1x T4"], resume=path, workers=1)
    assert len(asked) == 5 and len(more) == 20
    (graphs / "wrong.pb").write_bytes(net().as_graph_def().SerializeToString())
    asked.clear()
    changed = tf.sweep(str(graphs / "*"), MACHINES, resume=path, workers=1)
    (graphs / "wrong.pb").write_bytes(b"no graph at all")
    assert {given[3].machine for given in asked} == set(MACHINES) or not asked
    assert changed[changed["graph"].str.endswith("wrong.pb")]["nodes"].notna().all()


def test_a_file_that_is_no_sweep_is_left_as_it_is(tmp_path):
    path = tmp_path / "sweep.parquet"
    tf.sweep(net(), "cpu", resume=path, workers=1)
    whole = path.read_bytes()
    for content, error, text in (
        (b"", tf.errors.DataLossError, "is damaged"),
        (whole[: len(whole) // 2], tf.errors.DataLossError, "is damaged"),
        (
            whole[:4] + bytes(one ^ 85 for one in whole[4:1000]) + whole[1000:],
            tf.errors.DataLossError,
            "is damaged",
        ),
        (b"PAR1 text PAR1", tf.errors.DataLossError, "not a Parquet file"),
        (pd.DataFrame({"a": [1]}).to_parquet(), tf.errors.DataLossError, "does not contain a sweep"),
    ):
        path.write_bytes(content)
        with pytest.raises(error, match=text):
            tf.sweep(net(), "cpu", resume=path, workers=1)
        assert path.read_bytes() == content
    path.write_bytes(whole)
    with pytest.raises(tf.errors.FailedPreconditionError, match="what='place', not 'estimate'"):
        tf.sweep(net(), "cpu", what="estimate", resume=path, workers=1)
    with pytest.raises(OSError):
        tf.sweep(net(), "cpu", resume=tmp_path / "no" / "sweep.parquet", workers=1)


def test_configs_are_told_from_names_of_configs():
    plain = tf.sweep(net(), "2x K80", {"gpu_options": {"visible_device_list": "1"}, **SOFT}, workers=1)
    assert plain["config"][0] == 'gpu_options { visible_device_list: "1" } allow_soft_placement: true'
    named = tf.sweep(
        net(), {"two": "2x K80"}, {"soft": SOFT, "none": None, "both": tf.ConfigProto(**SOFT)}, workers=1
    )
    assert list(named["config"]) == ["soft", "none", "both"] and set(named["machine"]) == {"two"}


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"what": "run"}, ValueError, "'place', 'estimate', 'advise'"),
        ({"feeds": {}}, TypeError, "has no option 'feeds': choose from tags"),
        ({"graphs": 5}, TypeError, "a path or glob pattern"),
        ({"graphs": [5]}, TypeError, "Expected a Graph"),
        ({"graphs": "no/such/*.pb"}, tf.errors.NotFoundError, r"No file matches no/such/\*.pb"),
        ({"machines": 4}, TypeError, "such as '4x K80'"),
        ({"machines": [4]}, TypeError, "a Machine or its text"),
        ({"configs": "soft"}, TypeError, "dicts of their fields"),
        ({"configs": [{"soft": True}]}, ValueError, "cannot be converted to a ConfigProto"),
        ({"releases": "3.0"}, ValueError, "3.0"),
        ({"workers": 0}, ValueError, "at least 1"),
        ({"client": 5}, TypeError, "or the address of its scheduler"),
    ],
)
def test_wrong_arguments_say_what_is_right(given, error, text):
    with pytest.raises(error, match=text):
        tf.sweep(**{"graphs": net(), "machines": "cpu", **given})


def test_nothing_to_do_is_an_empty_table():
    for what, columns in COLUMNS.items():
        frame = tf.sweep([], "cpu", what=what)
        assert len(frame) == 0 and set(columns) < set(frame)


def test_without_the_extra_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'gpuplace\[cluster\]'"):
        tf.sweep(net(), "cpu")


def test_a_client_of_coroutines_is_refused():
    async def asks():
        async with distributed.Client(
            asynchronous=True, processes=False, n_workers=1, dashboard_address=None, set_as_default=False
        ) as made:
            with pytest.raises(TypeError, match="without asynchronous=True"):
                tf.sweep(net(), "cpu", client=made)

    asyncio.run(asks())


def test_networks_of_a_cluster_are_told_apart(tmp_path):
    with tf.Graph().as_default() as graph:
        with tf.device("/job:ps"):
            weights = tf.get_variable("weights", [2000, 2000])
        with tf.device("/job:worker"):
            tf.matmul(tf.ones([10, 2000]), weights, name="product")
    times = []
    for name in ("1GbE", "10GbE"):
        machine = {"it": f"worker: 1x K80; ps: cpu; network {name}"}
        frame = tf.sweep(
            graph, machine, what="estimate", fetches="product", resume=tmp_path / "rows.parquet", workers=1
        )
        times.append(frame["step_time"].iloc[0])
    assert times[0] > 5 * times[1] > 0  # the row of the other network was not taken for this one's


def test_a_case_is_told_that_was_kept_when_the_sweep_was_ended(graphs, tmp_path, monkeypatch):
    kept, told = sweep_file.SweepFile.add, []

    def ended(self, key, row):
        kept(self, key, row)
        raise KeyboardInterrupt

    monkeypatch.setattr(sweep_file.SweepFile, "add", ended)
    with pytest.warns(RuntimeWarning, match="ended after 1 of"):
        frame = tf.sweep(
            str(graphs / "*"), MACHINES, resume=tmp_path / "saved.parquet", workers=1, on_row=told.append
        )
    assert len(frame) == len(told) == 1 and told[0]["case"] == frame.index[0]


def test_the_release_is_that_of_each_graph_where_none_is_chosen():
    old, new = tf.Graph().as_graph_def(), tf.Graph().as_graph_def()
    for message, producer in ((old, 134), (new, 2474)):
        message.versions.producer = producer
        message.node.add(name="a", op="NoOp")
    frame = tf.sweep({"old": old, "new": new}, "cpu")
    assert frame["release"].tolist() == ["1.15", "2.21"] and not frame["error"].notna().any()
    tf.set_release("1.4")
    assert tf.sweep({"old": old, "new": new}, "cpu")["release"].tolist() == ["1.4", "1.4"]
