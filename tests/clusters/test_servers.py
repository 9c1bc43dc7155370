"""Servers: what they are made of, where they listen, and who may connect."""

import contextlib
import shutil
import socket
import subprocess
import sys

import pytest

import gpuplace as tf
from tests.clusters.running import addresses, servers

pytest.importorskip("distributed")


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        (({"w": ["localhost:0"], "q": ["localhost:0"]},), ValueError, "Must specify an explicit `job_name`."),
        (({"w": ["localhost:0", "localhost:0"]}, "w"), ValueError, "Must specify an explicit `task_index`."),
        ((3,), TypeError, "Could not convert `server_or_cluster_def` to a `tf.train.ServerDef` or"),
        (({"w": ["localhost:0"]}, "q", 0), tf.errors.InternalError, 'Job "q" was not defined in cluster'),
        (
            ({"w": ["localhost:0"]}, "w", 4),
            tf.errors.InvalidArgumentError,
            'Task 4 was not defined in job "w"',
        ),
        (
            ({"w": ["foo"]},),
            tf.errors.InvalidArgumentError,
            'Could not parse port for local server from "foo".',
        ),
        (({"w": ["localhost:0"]}, "w", 0, "x"), tf.errors.NotFoundError, "No server factory registered"),
        (
            ({"w": ["192.0.2.1:0"]},),
            tf.errors.PermissionDeniedError,
            "'192.0.2.1:0' is not a loopback address",
        ),
        (({"w": ["0.0.0.0:0"]},), tf.errors.PermissionDeniedError, "'0.0.0.0:0' is not a loopback address"),
    ],
)
def test_wrong_servers(arguments, error, sentence):
    with pytest.raises(error) as raised:
        tf.train.Server(*arguments)
    assert sentence in str(raised.value)


def test_a_server_says_what_it_is():
    cluster = addresses(ps=1, worker=1)
    server_def = tf.train.ServerDef(cluster=tf.train.ClusterSpec(cluster).as_cluster_def(), job_name="worker")
    server = tf.train.Server(server_def, start=False)
    assert server.server_def == tf.train.ServerDef.FromString(
        server_def.SerializeToString() + tf.train.ServerDef(protocol="grpc").SerializeToString()
    )
    assert server.target == f"grpc://{cluster['worker'][0]}"
    server.start()
    try:
        with pytest.raises(tf.errors.UnknownError, match="Could not start gRPC server"):
            tf.train.Server(cluster, "worker", 0)
    finally:
        server.stop()
    server.join()


@contextlib.contextmanager
def machine(text):
    """The process's machine within the block."""
    tf.use_machine(text)
    try:
        yield
    finally:
        tf.use_machine(None)


def test_local_servers_have_the_devices_of_the_machine():
    with machine("2x Tesla K40c"):
        server = tf.train.Server.create_local_server(tf.ConfigProto(device_count={"GPU": 1}))
        try:
            with tf.Graph().as_default(), tf.Session(server.target) as session:
                with tf.device("/gpu:0"):
                    doubled = tf.constant([1.0, 2.0]) * 2
                assert session.run(doubled).tolist() == [2, 4]
                assert session.placement[doubled.op.name] == "/job:local/replica:0/task:0/device:GPU:0"
                assert len(session.list_devices()) == 2
        finally:
            server.stop()


def tls(authority, shown):
    """dask's settings for TLS.

    Args:
        authority: certificate and key of who signs.
        shown: certificate and key of this process.
    """
    import dask

    settings = {"require-encryption": True, "tls.ca-file": authority[0]}
    for role in ("scheduler", "worker", "client"):
        settings |= {f"tls.{role}.cert": shown[0], f"tls.{role}.key": shown[1]}
    return dask.config.set({f"distributed.comm.{key}": value for key, value in settings.items()})


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes certificates with openssl")
def test_who_has_no_certificate_is_turned_away(tmp_path):
    own, other = (certificate(tmp_path, name) for name in ("own", "other"))
    expired = expired_certificate(tmp_path, own)
    with tls(own, own), servers(worker=2) as started:
        target = started["worker", 0].target
        with tf.Graph().as_default():
            with tf.device("/job:worker/task:1"):
                three, large = tf.constant(1) + 2, tf.reduce_sum(tf.ones([1 << 20]))
            with tf.Session(target) as session:
                assert session.run(three) == 3
            stranger = f"grpc://127.0.0.1:{target.rpartition(':')[2]}"  # not known as this process's own
            with tls(own, own), tf.Session(stranger) as session:
                assert session.run([three, large]) == [3, 1 << 20]
            for authority, shown in ((other, other), (own, other), (other, own), (own, expired)):
                with tls(authority, shown), pytest.raises(tf.errors.UnauthenticatedError) as raised:
                    tf.Session(stranger)
                assert "valid certificates of the same authority on both ends" in raised.value.hint
    with servers(worker=1) as started:
        plain = started["worker", 0].target.replace("localhost", "127.0.0.1")
        with tls(own, own), pytest.raises(tf.errors.UnauthenticatedError):
            tf.Session(plain)
    with tls(own, expired), servers(worker=1) as started:
        stranger = started["worker", 0].target.replace("localhost", "127.0.0.1")
        with tls(own, own), pytest.raises(tf.errors.UnauthenticatedError, match="CERTIFICATE_VERIFY_FAILED"):
            tf.Session(stranger)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes certificates with openssl")
def test_who_comes_without_tls_is_turned_away(tmp_path):
    own = certificate(tmp_path, "own")
    with tls(own, own), servers(worker=1) as started:
        stranger = started["worker", 0].target.replace("localhost", "127.0.0.1")
        with tls(own, own), tf.Session(stranger):
            pass
        import dask

        with dask.config.set({"distributed.comm.require-encryption": False}):
            config = tf.ConfigProto(operation_timeout_in_ms=1000)
            with pytest.raises((tf.errors.UnauthenticatedError, tf.errors.DeadlineExceededError)):
                tf.Session(stranger, config=config)


def test_encryption_without_certificates():
    import dask

    with dask.config.set({"distributed.comm.require-encryption": True}):
        with pytest.raises(tf.errors.PermissionDeniedError, match="no certificates are configured"):
            tf.train.Server.create_local_server()


def certificate(folder, name):
    """A certificate of its own authority, and its key."""
    files = str(folder / f"{name}.pem"), str(folder / f"{name}.key")
    options = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={name}"]
    openssl("req", "-x509", *options, "-days", "2", "-out", files[0], "-keyout", files[1])
    return files


def expired_certificate(folder, authority):
    """A certificate that an authority signed for a day of the past, and its key."""
    files, request = (str(folder / "expired.pem"), str(folder / "expired.key")), str(folder / "request")
    options = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=expired"]
    openssl("req", "-new", *options, "-out", request, "-keyout", files[1])
    (folder / "index").touch()
    (folder / "serial").write_text("01")
    (folder / "ca.cnf").write_text(
        f"[ca]\ndefault_ca = ca\n[ca]\ndatabase = {folder}/index\nserial = {folder}/serial\nnew_certs_dir = {folder}\n"
        "default_md = sha256\npolicy = any\n[any]\ncommonName = supplied\n"
    )
    dates = ["-startdate", "20200101000000Z", "-enddate", "20200102000000Z"]
    names = ["-cert", authority[0], "-keyfile", authority[1], "-in", request, "-out", files[0]]
    openssl("ca", "-config", str(folder / "ca.cnf"), "-batch", "-notext", *dates, *names)
    return files


def openssl(*arguments):
    """Calls the program."""
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def test_without_the_extra():
    """Servers and sessions need no other package; the workers of a dask cluster do."""
    code = """
import sys
sys.modules["dask"] = sys.modules["distributed"] = None
import gpuplace as tf
for make in (lambda: tf.Session("dask://localhost:1"), lambda: tf.cluster(None)):
    try:
        make()
    except tf.errors.UnimplementedError as error:
        assert "pip install 'gpuplace[cluster]'" in str(error), error
    else:
        raise AssertionError
server = tf.train.Server.create_local_server()
with tf.Session(server.target.replace("localhost", "127.0.0.1")) as session:
    assert session.run(tf.constant(1) + 1) == 2
server.stop()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_program_ends_though_a_step_waits():
    code = """
import threading, time
import gpuplace as tf
server = tf.train.Server.create_local_server()
session = tf.Session(server.target)
dequeue = tf.FIFOQueue(1, tf.int32).dequeue()
threading.Thread(target=lambda: session.run(dequeue), daemon=True).start()
time.sleep(0.3)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_ports_are_free_when_servers_have_stopped():
    with servers(ps=1) as started:
        port = int(started["ps", 0].target.rpartition(":")[2])
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))


@pytest.mark.parametrize(
    "of_session", [None, tf.ConfigProto(allow_soft_placement=False, log_device_placement=False)]
)
def test_what_a_server_is_given_holds_for_its_sessions(of_session, capfd):
    given = tf.ConfigProto(allow_soft_placement=True, log_device_placement=True)
    server = tf.train.Server.create_local_server(config=given)
    with tf.Graph().as_default(), tf.device("/gpu:9"):
        total = tf.add(1.0, 2.0, name="total")
        with tf.Session(server.target, config=of_session) as session:
            assert session.run(total) == 3.0
    assert "total: (Add): /job:local/replica:0/task:0/device:CPU:0" in capfd.readouterr().out
    server.stop()


def test_a_monitored_session_takes_soft_placement_from_its_server():
    server = tf.train.Server.create_local_server(config=tf.ConfigProto(allow_soft_placement=True))
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        with tf.device("/gpu:9"):
            more = tf.add(1.0, 2.0)
        with tf.train.MonitoredTrainingSession(master=server.target) as session:
            assert session.run([more, step]) == [3.0, 0]
    server.stop()


def test_sessions_keep_what_their_server_does_not_set():
    server = tf.train.Server.create_local_server(config=tf.ConfigProto(log_device_placement=True))
    with tf.Graph().as_default(), tf.device("/gpu:9"):
        total = tf.add(1.0, 2.0)
        with tf.Session(server.target, config=tf.ConfigProto(allow_soft_placement=True)) as session:
            assert session.run(total) == 3.0
        with tf.Session(server.target) as session, pytest.raises(tf.errors.InvalidArgumentError):
            session.run(total)
    server.stop()
