"""Work of assignments and of optimizer steps.

Source: tensorflow/core/kernels/training_ops.cc and training_ops_gpu.cu.cc, release 1.15.
"""

from __future__ import annotations

from gpuplace.kernels.work.models import Task, work_model
from gpuplace.kernels.work.record import Work


def _slots(task: Task) -> int:
    """Return the variables that an update takes: handles or references, which come first."""
    assert task.in_sizes
    handles = sum(1 for dtype in task.in_types if dtype.name == "resource")
    if handles:
        return handles
    first = task.in_sizes[0]
    count = 0
    for sizes in task.in_sizes:
        if sizes != first or (not first and count):
            break
        count += 1
    return max(1, count - 1)  # the gradient has the same shape


def _gradient_at(task: Task, slots: int) -> int:
    """Return the position of the gradient: the largest input that is not a variable."""
    rest = range(slots, len(task.in_sizes))
    return max(rest, key=task.in_count, default=0)


def _dense(task: Task, flops: float, launches: int, slots: int | None = None) -> Work:
    slots = _slots(task) if slots is None else slots
    at = _gradient_at(task, slots)
    grad = task.in_bytes(at)
    return task.work(
        "update", flops * task.in_count(at), read=(slots + 1) * grad, written=slots * grad, launches=launches
    )


@work_model("Assign", "AssignVariableOp", "AssignVariableXlaConcatND")
def _assigned(task: Task) -> Work:
    """Count a copy. If nothing else refers to the value, its memory becomes the variable's; this is not assumed."""
    return task.work("update", read=task.in_bytes(1), written=task.in_bytes(1))


@work_model("AssignAdd", "AssignSub", "AssignAddVariableOp", "AssignSubVariableOp")
def _added(task: Task) -> Work:
    value = task.in_bytes(1)
    return task.work("update", float(task.in_count(1)), read=2 * value, written=value)


@work_model("ApplyGradientDescent", "ResourceApplyGradientDescent")
def _descent(task: Task) -> Work:
    return _dense(task, 2.0, 1, slots=1)


@work_model("ApplyProximalGradientDescent", "ResourceApplyProximalGradientDescent")
def _proximal_descent(task: Task) -> Work:
    return _dense(task, 10.0, 1, slots=1)


@work_model("ApplyMomentum", "ResourceApplyMomentum", "ResourceApplyKerasMomentum")
def _momentum(task: Task) -> Work:
    """Count an update of the accumulator, then of the variable."""
    return _dense(task, 4.0, 2, slots=2)


@work_model("ApplyAdagrad", "ResourceApplyAdagrad", "ApplyAdagradV2", "ResourceApplyAdagradV2")
@work_model("ApplyProximalAdagrad", "ResourceApplyProximalAdagrad")
def _adagrad(task: Task) -> Work:
    return _dense(task, 10.0, 2, slots=2)


@work_model("ApplyAdagradDA", "ResourceApplyAdagradDA")
def _adagrad_dual(task: Task) -> Work:
    return _dense(task, 15.0, 3, slots=3)


@work_model("ApplyAdam", "ResourceApplyAdam", "ApplyAdaMax", "ResourceApplyAdaMax")
def _adam(task: Task) -> Work:
    """Count one kernel over variable, moments and gradient."""
    return _dense(task, 15.0, 1, slots=3)


@work_model("ResourceApplyAdamWithAmsgrad")
def _amsgrad(task: Task) -> Work:
    return _dense(task, 16.0, 1, slots=4)


@work_model("ApplyRMSProp", "ResourceApplyRMSProp", "ApplyAdadelta", "ResourceApplyAdadelta")
def _rms(task: Task) -> Work:
    return _dense(task, 15.0, 3, slots=3)


@work_model("ApplyCenteredRMSProp", "ResourceApplyCenteredRMSProp")
def _centered_rms(task: Task) -> Work:
    return _dense(task, 18.0, 4, slots=4)


@work_model("ApplyFtrl", "ResourceApplyFtrl", "ApplyFtrlV2", "ResourceApplyFtrlV2")
def _ftrl(task: Task) -> Work:
    return _dense(task, 40.0, 3, slots=3)


@work_model("ApplyAddSign", "ResourceApplyAddSign", "ApplyPowerSign", "ResourceApplyPowerSign")
def _sign(task: Task) -> Work:
    return _dense(task, 10.0, 2, slots=2)


@work_model(
    "SparseApplyAdagrad", "ResourceSparseApplyAdagrad", "SparseApplyMomentum", "ResourceSparseApplyMomentum"
)
@work_model("SparseApplyProximalGradientDescent", "ResourceSparseApplyProximalGradientDescent")
@work_model("SparseApplyProximalAdagrad", "ResourceSparseApplyProximalAdagrad", "SparseApplyFtrl")
@work_model(
    "ResourceSparseApplyFtrl", "SparseApplyAdadelta", "ResourceSparseApplyAdadelta", "SparseApplyRMSProp"
)
@work_model("ResourceSparseApplyRMSProp", "SparseApplyCenteredRMSProp", "ResourceSparseApplyCenteredRMSProp")
@work_model("SparseApplyAdagradDA", "ResourceSparseApplyAdagradDA", "SparseApplyAdagradV2")
@work_model("ResourceSparseApplyAdagradV2", "SparseApplyFtrlV2", "ResourceSparseApplyFtrlV2")
@work_model("ResourceSparseApplyKerasMomentum")
def _rows(task: Task) -> Work:
    """Count reads and writes of only the selected rows of the variable and slots."""
    handles = sum(1 for dtype in task.in_types if dtype.name == "resource")
    slots = handles or _leading(task)
    at = _gradient_at(task, slots)
    rows = task.in_bytes(at)
    return task.work(
        "scatter",
        15.0 * task.in_count(at),
        read=(slots + 1) * rows,
        written=slots * rows,
        launches=1,
        rows=float(task.in_sizes[at][0]) if task.in_sizes[at] else 1.0,
    )


def _leading(task: Task) -> int:
    """Return the number of leading inputs with the variable's shape."""
    count = 0
    while count < len(task.in_sizes) and task.in_sizes[count] == task.in_sizes[0]:
        count += 1
    return count


@work_model("AccumulatorApplyGradient", "ResourceAccumulatorApplyGradient", "SparseAccumulatorApplyGradient")
def _accumulated(task: Task) -> Work:
    grad = max(map(task.in_bytes, range(len(task.in_sizes))))
    return task.work("update", grad / 4, read=2 * grad, written=grad)


@work_model("AccumulatorTakeGradient", "ResourceAccumulatorTakeGradient", "SparseAccumulatorTakeGradient")
def _taken(task: Task) -> Work:
    return task.work("update", float(task.out_count()), read=task.written)
