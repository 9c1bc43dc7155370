"""What cells and wrappers of cells say of their arguments; the answers are those of TensorFlow 1.15.5."""

import pytest

import gpuplace as tf
from gpuplace.ops.rnn.function_texts import function_from

CELLS = tf.nn.rnn_cell
LSTM = {
    **{"name": "lstm_cell_1", "trainable": True, "dtype": None, "num_units": 10, "use_peepholes": False},
    **{"cell_clip": None, "initializer": None, "num_proj": None, "proj_clip": None, "num_unit_shards": None},
    **{
        "num_proj_shards": None,
        "forget_bias": 1.0,
        "state_is_tuple": True,
        "activation": "tanh",
        "reuse": None,
    },
}
INSIDE = {"cell": {"class_name": "LSTMCell", "config": LSTM}}
DROPOUT = {"input_keep_prob": 1.0, "output_keep_prob": 1.0, "state_keep_prob": 1.0}
VARIATIONAL = {"input_keep_prob": 0.5, "variational_recurrent": True, "input_size": 4, "seed": 3}
ONES = {"class_name": "Ones", "config": {"dtype": "float32"}}


@pytest.mark.parametrize(
    "make, expected",
    [
        (lambda: CELLS.LSTMCell(10), LSTM),
        (
            lambda: CELLS.BasicRNNCell(3, activation="relu"),
            {"name": "basic_rnn_cell_1", "num_units": 3, "activation": "relu", "reuse": None},
        ),
        (
            lambda: CELLS.BasicLSTMCell(3, name="q", trainable=False),
            {"name": "q", "trainable": False, "num_units": 3, "forget_bias": 1.0, "state_is_tuple": True}
            | {"activation": "tanh", "reuse": None},
        ),
        (
            lambda: CELLS.GRUCell(3, tf.nn.relu, kernel_initializer=tf.ones_initializer(), dtype=tf.float64),
            {"name": "gru_cell_1", "dtype": "float64", "num_units": 3, "kernel_initializer": ONES}
            | {"bias_initializer": None, "activation": "relu", "reuse": None},
        ),
        (lambda: CELLS.MultiRNNCell([CELLS.LSTMCell(10)]), {"name": "multi_rnn_cell_1"}),
    ],
)
def test_configs_of_cells(make, expected):
    cell = make()
    assert cell.get_config() == {"trainable": True, "dtype": None} | expected
    if not isinstance(cell, CELLS.MultiRNNCell):
        assert type(cell).from_config(cell.get_config()).get_config() == cell.get_config()


@pytest.mark.parametrize(
    "make, expected",
    [
        (lambda cell: CELLS.DeviceWrapper(cell, "/cpu:0"), {"name": "device_wrapper_1", "device": "/cpu:0"}),
        (lambda cell: CELLS.ResidualWrapper(cell), {"name": "residual_wrapper_1"}),
        (
            lambda cell: CELLS.DropoutWrapper(cell),
            {"name": "dropout_wrapper_1", "variational_recurrent": False, "input_size": None, "seed": None}
            | DROPOUT,
        ),
        (
            lambda cell: CELLS.DropoutWrapper(cell, dtype=tf.float32, **VARIATIONAL),
            {"name": "dropout_wrapper_1", "dtype": "float32"} | DROPOUT | VARIATIONAL,
        ),
    ],
)
def test_configs_of_wrappers(make, expected):
    wrapper = make(CELLS.LSTMCell(10))
    config = wrapper.get_config()
    assert config == {"trainable": True, "dtype": None} | INSIDE | expected
    with pytest.raises(ValueError, match="RNNCellWrapper cannot reconstruct the wrapped cell"):
        type(wrapper).from_config(config)
    again = type(wrapper).from_config(config | {"cell": CELLS.LSTMCell.from_config(LSTM)})
    assert again.get_config() == config


def test_functions_of_wrappers_are_kept():
    factor = 3
    wrapper = CELLS.ResidualWrapper(
        CELLS.LSTMCell(2), residual_fn=lambda inputs, outputs: inputs * factor + outputs
    )
    config = wrapper.get_config()
    assert config["residual_fn_type"] == "lambda" and config["residule_fn_module"] == __name__
    again = CELLS.ResidualWrapper.from_config(config | {"cell": CELLS.LSTMCell(2)})
    assert again._residual_fn(2, 1) == 7
    wrapper = CELLS.DropoutWrapper(
        CELLS.LSTMCell(2), dropout_state_filter_visitor=lambda state, kept=True: kept
    )
    config = wrapper.get_config()
    again = CELLS.DropoutWrapper.from_config(config | {"cell": CELLS.LSTMCell(2)})
    assert again._dropout_state_filter(None) is True


def test_functions_that_are_not_there():
    assert function_from("sum", "function", None, {"sum": sum}) is sum
    with pytest.raises(ValueError, match="Unknown function in wrapper:sum"):
        function_from("sum", "function", None, {})
    with pytest.raises(TypeError, match="Unknown function type"):
        function_from("sum", "other", None, {})
    with pytest.warns(UserWarning, match="no.such.module is not loaded"):
        function_from("sum", "function", "no.such.module", {"sum": sum})


def test_weights_of_cells_have_tensorflows_names():
    cell = CELLS.LSTMCell(2, use_peepholes=True, num_proj=3)
    cell(tf.ones([1, 4]), cell.zero_state(1, tf.float32))
    found = (cell._kernel, cell._bias, cell._w_f_diag, cell._w_i_diag, cell._w_o_diag, cell._proj_kernel)
    assert list(found) == cell.variables
