"""Training programs that say what each of their nodes is for as they make it."""

from collections.abc import Iterator
from contextlib import contextmanager

import gpuplace as tf


class Program:
    """A graph with the role that each node was made for."""

    def __init__(self) -> None:
        self.graph = tf.Graph()
        self.roles: dict[str, str] = {}

    @contextmanager
    def role(self, role: str) -> Iterator[None]:
        """What is made inside has a role, but for variables, their initialisers and reads, and the step counter."""
        known = set(self.roles) | {op.name for op in self.graph.get_operations()}
        yield
        for op in self.graph.get_operations():
            if op.name not in known:
                self.roles[op.name] = self._own_role(op) or role

    def _own_role(self, op: tf.Operation) -> str:
        parts = op.name.split("/")
        if "global_step" in parts or "global_step" in op.name:
            return "bookkeeping"
        if op.type == "Placeholder":
            return "input"
        is_slot = op.type == "Const" and op.outputs[0].consumers() and parts[-1] == "initial_value"
        is_read = op.type == "Identity" and parts[-1] == "read"
        first = op.type == "Assign" and op.name == f"{op.inputs[0].op.name}/Assign"
        return (
            "variable"
            if is_slot or is_read or first or op.type == "VariableV2" or "Initializer" in parts
            else ""
        )


def dense(top, units, name, activate=True):
    """A layer with weights and a bias."""
    with tf.variable_scope(name):
        weights = tf.get_variable("weights", (int(top.shape[-1]), units), tf.float32)
        bias = tf.get_variable("bias", (units,), tf.float32, tf.zeros_initializer())
        result = tf.nn.bias_add(tf.matmul(top, weights), bias)
        return tf.nn.relu(result) if activate else result


def perceptron(top):
    """Three layers."""
    return dense(dense(dense(top, 32, "first"), 32, "second"), 10, "logits", activate=False)


def residual(top):
    """Layers with a way round each pair."""
    top = dense(top, 32, "enter")
    for block in range(3):
        with tf.variable_scope(f"block_{block}"):
            top = tf.nn.relu(dense(dense(top, 32, "a"), 32, "b", activate=False) + top)
    return dense(top, 10, "logits", activate=False)


def recurrent(top):
    """A cell that is unrolled."""
    state = tf.zeros([8, 32])
    for step in range(4):
        with tf.variable_scope("cell", reuse=step > 0):
            state = tf.tanh(dense(tf.concat([top, state], 1), 32, "state", activate=False))
    return dense(state, 10, "logits", activate=False)


def without_scopes(top):
    """Matrices and ops at the top of the graph."""
    for number in range(4):
        matrix = tf.get_variable(f"w_{number}", (int(top.shape[-1]), 32 if number < 3 else 10), tf.float32)
        top = tf.matmul(top, matrix) if number == 3 else tf.nn.relu(tf.matmul(top, matrix))
    return top


NETS = {
    "perceptron": perceptron,
    "residual": residual,
    "recurrent": recurrent,
    "without_scopes": without_scopes,
}
OPTIMIZERS = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "adam": lambda: tf.train.AdamOptimizer(0.01),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.01),
}


def training(
    net: str, optimizer: str, towers: int = 0, *, clip: str = "", penalty: bool = False, aside: bool = True
):
    """A training program.

    Args:
        net: one of `NETS`.
        optimizer: one of `OPTIMIZERS`, or ``"by hand"``.
        towers: copies of the net whose gradients are averaged; 0: one net without a scope of its own.
        clip: ``"norm"`` or ``"value"``: what gradients are clipped by.
        penalty: whether the loss has a penalty on weights.
        aside: whether there are metrics, summaries and a saver.
    """
    program = Program()
    with program.graph.as_default():
        found = [_tower(program, net, number, towers, penalty, aside) for number in range(max(1, towers))]
        variables = tf.trainable_variables()
        gradients = found[0]
        with program.role("averaging"):
            if towers > 1:
                gradients = [tf.add_n(list(each)) / float(towers) for each in zip(*found, strict=True)]
            if clip == "norm":
                gradients, _ = tf.clip_by_global_norm(gradients, 5.0)
            elif clip == "value":
                gradients = [tf.clip_by_value(gradient, -1.0, 1.0) for gradient in gradients]
        with program.role("update"):
            if optimizer == "by hand":
                updates = [
                    tf.assign_sub(variable, 0.1 * gradient)
                    for variable, gradient in zip(variables, gradients, strict=True)
                ]
                tf.group(*updates, name="train")
            else:
                OPTIMIZERS[optimizer]().apply_gradients(zip(gradients, variables, strict=True), name="train")
        if aside:
            with program.role("bookkeeping"):
                tf.summary.merge_all()
                tf.train.Saver()
        with program.role("variable"):
            tf.global_variables_initializer()
    return program


def _tower(program: Program, net: str, number: int, towers: int, penalty: bool, aside: bool):
    with tf.device(f"/gpu:{number}"), tf.name_scope(f"tower_{number}" if towers else ""):
        with program.role("input"):
            rows = tf.placeholder(tf.float32, [8, 32], name="rows")
            labels = tf.placeholder(tf.int32, [8], name="labels")
        with program.role("forward"), tf.variable_scope(tf.get_variable_scope(), reuse=number > 0):
            logits = NETS[net](rows)
        with program.role("loss"):
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            loss = tf.reduce_mean(losses)
            if penalty:
                loss += 1e-4 * tf.add_n([tf.nn.l2_loss(variable) for variable in tf.trainable_variables()])
        with program.role("bookkeeping"):
            if aside:
                hits = tf.equal(tf.cast(tf.argmax(logits, 1), tf.int32), labels)
                tf.summary.scalar("accuracy", tf.reduce_mean(tf.cast(hits, tf.float32)))
        with program.role("backward"):
            return tf.gradients(loss, tf.trainable_variables())
