"""TensorFlow 1.15.5's own placer, asked about machines that do not exist; many graphs in one process.

A process under Python 3.7 with `tensorflow-gpu==1.15.5` (numpy<1.19, protobuf<3.21; it registers its GPU
kernels without CUDA) serves as oracle: a master joined by a fake worker that answers `GetStatus` with invented devices.
Creating a session places the graph, and the lines of log_device_placement are the answer. The session is
created by a remote call with the GraphDef as it is: `tf.import_graph_def` would infer shapes and move devices first.

    python3.7 tests/oracle/tensorflow_placer_1_15.py        reads requests, one JSON object a line, answers likewise

From Python 3.11 on use `Oracle("path/to/python3.7")`.
"""

import base64
import json
import os
import random
import re
import subprocess
import sys
import tempfile

MASTER_DEVICES = (
    "/job:master/replica:0/task:0/device:CPU:0",
    "/job:master/replica:0/task:0/device:XLA_CPU:0",
)
"""The process's own devices, which come first, as the client's, in every machine that it is asked about."""


class Oracle(object):
    """The process, seen from the other side.

    Args:
        python: the interpreter.
        script: what it runs: this file, or another that reads and answers lines of JSON.
    """

    def __init__(self, python, script=__file__):
        self.process = subprocess.Popen(
            [python, os.path.abspath(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            universal_newlines=True,
        )

    def ask(self, graph, devices, soft=False, config=b""):
        """Node name -> full device name, or (error class, message); see `tensorflow_placer.ask`.

        The machine has `MASTER_DEVICES`, then `devices`.
        """
        request = {
            "graph": base64.b64encode(graph).decode(),
            "devices": list(devices),
            "soft": bool(soft),
            "config": base64.b64encode(config).decode(),
        }
        answer = self.answer(request)
        return tuple(answer) if isinstance(answer, list) else answer

    def answer(self, request):
        """The answer to a request as the script takes it."""
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the oracle's process ended")
        return json.loads(line)

    def close(self):
        """Ends the process."""
        self.process.stdin.close()
        self.process.wait()


def varint(number):
    """Protobuf's variable-length integer."""
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


class Server(object):
    """Master, fake worker, and the way to ask them."""

    def __init__(self, answers):
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        import socket
        from concurrent import futures

        import grpc
        import tensorflow as tf
        from tensorflow.core.framework import device_attributes_pb2

        self.tf = tf.compat.v1
        self.attributes = device_attributes_pb2.DeviceAttributes
        self.status = b""
        self.answers = answers
        server = self

        class Worker(grpc.GenericRpcHandler):
            def service(self, details):
                is_status = details.method.endswith("/GetStatus")
                return grpc.unary_unary_rpc_method_handler(
                    lambda request, context: server.status if is_status else b""
                )

        def free_port():
            with socket.socket() as s:
                s.bind(("127.0.0.1", 0))
                return s.getsockname()[1]

        ports = free_port(), free_port()
        self.grpc = grpc
        self.worker = grpc.server(
            futures.ThreadPoolExecutor(2), options=[("grpc.max_receive_message_length", -1)]
        )
        self.worker.add_generic_rpc_handlers([Worker()])
        self.worker.add_insecure_port("127.0.0.1:%d" % ports[1])
        self.worker.start()
        cluster = {"master": {0: "127.0.0.1:%d" % ports[0]}, "localhost": {0: "127.0.0.1:%d" % ports[1]}}
        self.master = self.tf.train.Server(cluster, job_name="master", task_index=0)
        options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        channel = grpc.insecure_channel("127.0.0.1:%d" % ports[0], options=options)
        self.create = channel.unary_unary("/tensorflow.MasterService/CreateSession")
        self.close = channel.unary_unary("/tensorflow.MasterService/CloseSession")

    def place(self, data, devices, soft, given=b""):
        """Answers one request."""
        self.status = b""
        for name in devices:
            kind = re.search(r"device:(\w+):", name).group(1)
            message = self.attributes(
                name=name, device_type=kind, memory_limit=12 << 30, incarnation=random.getrandbits(60) + 1
            ).SerializeToString()
            self.status += b"\x0a" + varint(len(message)) + message
        message = self.tf.ConfigProto.FromString(given)
        message.MergeFrom(self.tf.ConfigProto(log_device_placement=True, device_filters=["/job:localhost"]))
        message.allow_soft_placement = soft
        config = message.SerializeToString()
        request = b"\x0a" + varint(len(data)) + data + b"\x12" + varint(len(config)) + config
        self.answers.seek(0)
        self.answers.truncate()
        error = None
        try:
            reply = self.create(request, timeout=60)
            self.close(reply[: 2 + reply[1]])
        except self.grpc.RpcError as raised:
            kind = self.tf.errors.exception_type_from_error_code(raised.code().value[0])
            error = [kind.__name__, raised.details()]
        self.flush()
        if error:
            return error
        self.answers.seek(0)
        lines = re.findall(r"^(\S+): \(\S+\): (/job:\S+)$", self.answers.read(), re.M)
        return dict(lines)

    @staticmethod
    def flush():
        """The lines are written by C's printf."""
        import ctypes

        ctypes.CDLL(None).fflush(None)


def main():
    """Serves requests until the input ends."""
    out = os.fdopen(os.dup(1), "w")
    answers = tempfile.TemporaryFile("w+")
    os.dup2(answers.fileno(), 1)
    server = Server(answers)
    for line in sys.stdin:
        request = json.loads(line)
        graph, config = (base64.b64decode(request[key]) for key in ("graph", "config"))
        answer = server.place(graph, request["devices"], request["soft"], config)
        out.write(json.dumps(answer) + "\n")
        out.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
