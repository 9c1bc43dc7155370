"""The explorer of a graph on a cluster: its machine, its costs, and networks beside each other."""

import pytest

import gpuplace as tf
from tests.clusters.running import servers

CLUSTER = "worker*2: 1x Tesla K80; ps: 1 CPU"


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        with tf.device("/job:ps"):
            w = tf.get_variable("w", [512, 512])
        for index in range(2):
            with tf.device(f"/job:worker/task:{index}"):
                x = tf.placeholder(tf.float32, [None, 512], name=f"x{index}")
                tf.matmul(x, w, name=f"y{index}")
    return graph


def test_a_cluster_has_one_machine_and_no_gpus_to_hide(graph):
    explorer = tf.explore(graph, machine=CLUSTER)
    assert explorer.placement["y1"] == "/job:worker/replica:0/task:1/device:GPU:0"
    fields = {field["name"]: field for field in explorer._controls.fields}
    assert fields["machine"]["value"] == CLUSTER
    assert not [name for name in fields if name.startswith("gpu:")]
    explorer.machine = "worker*2: cpu; ps: cpu"
    assert explorer.placement["y1"] == "/job:worker/replica:0/task:1/device:CPU:0"


def test_networks_are_compared(graph):
    explorer = tf.explore(graph, machine=CLUSTER)
    explorer.fetches = ("y0", "y1")
    explorer.feeds = {"x0": (64, 512), "x1": (64, 512)}
    explorer.tab = "Cost"
    copies = explorer.estimate.frame("copies")
    assert set(copies["way"]) >= {"network"}
    explorer._views.costs.compare()
    rows = {str(row.machine): row.step_time for row in explorer._views.costs.grid if row.batch == 64}
    assert list(rows) == [CLUSTER, *(f"{CLUSTER}; network {name}" for name in ("1GbE", "25GbE", "100GbE"))]
    times = [rows[f"{CLUSTER}; network 1GbE"], rows[CLUSTER], rows[f"{CLUSTER}; network 25GbE"]]
    assert times == sorted(times, reverse=True)


def test_a_session_with_a_target_has_its_cluster(graph):
    pytest.importorskip("distributed")
    with servers(worker=2, ps=1) as tasks, tf.Session(tasks["worker", 0].target, graph=graph) as session:
        explorer = tf.explore(session)
    assert explorer.machine == "worker: 1 CPU; ps: 1 CPU; worker: 1 CPU; network loopback"
    assert explorer.placement["y1"] == "/job:worker/replica:0/task:1/device:CPU:0"
