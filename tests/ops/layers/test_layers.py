"""What layers say of themselves: names, arguments, losses and updates; the answers are those of TensorFlow 1.15.5."""

import copy

import pytest

import gpuplace as tf

L = tf.layers
ZEROS = {"class_name": "Zeros", "config": {"dtype": "float32"}}
HE = {
    "class_name": "VarianceScaling",
    "config": {
        "scale": 2.0,
        "mode": "fan_in",
        "distribution": "truncated_normal",
        "seed": None,
        "dtype": "float32",
    },
}
OF_ONE_KERNEL = {
    "kernel_initializer": None,
    "bias_initializer": ZEROS,
    "kernel_regularizer": None,
    "bias_regularizer": None,
    "activity_regularizer": None,
    "kernel_constraint": None,
    "bias_constraint": None,
}


@pytest.mark.parametrize(
    "make, expected",
    [
        (lambda: L.Flatten(), {"name": "flatten_1", "data_format": "channels_last"}),
        (lambda: L.Dropout(0.3), {"name": "dropout_1", "rate": 0.3, "noise_shape": None, "seed": None}),
        (
            lambda: L.Dense(3, kernel_constraint="max_norm", dtype=tf.float64, trainable=False),
            {"name": "dense_1", "units": 3, "activation": "linear", "use_bias": True, **OF_ONE_KERNEL}
            | {"kernel_constraint": {"class_name": "MaxNorm", "config": {"max_value": 2, "axis": 0}}}
            | {"dtype": "float64", "trainable": False},
        ),
        (
            lambda: L.Conv2D(3, 2, strides=2, padding="SAME", activation=tf.nn.relu),
            {"name": "conv2d_1", "filters": 3, "kernel_size": (2, 2), "strides": (2, 2), "padding": "same"}
            | {
                "data_format": "channels_last",
                "dilation_rate": (1, 1),
                "activation": "relu",
                "use_bias": True,
            }
            | OF_ONE_KERNEL,
        ),
        (
            lambda: L.MaxPooling1D(2, 2, "SAME"),
            {"name": "max_pooling1d_1", "pool_size": (2,), "strides": (2,), "padding": "same"}
            | {"data_format": "channels_last"},
        ),
        (
            lambda: L.BatchNormalization(gamma_regularizer="l2"),
            {"name": "batch_normalization_1", "axis": -1, "momentum": 0.99, "epsilon": 0.001, "center": True}
            | {
                "scale": True,
                "beta_initializer": ZEROS,
                "moving_mean_initializer": ZEROS,
                "beta_regularizer": None,
            }
            | {"gamma_regularizer": {"class_name": "L1L2", "config": {"l1": 0.0, "l2": 0.009999999776482582}}}
            | dict.fromkeys(
                ("gamma_initializer", "moving_variance_initializer"),
                {"class_name": "Ones", "config": {"dtype": "float32"}},
            )
            | {"beta_constraint": None, "gamma_constraint": None},
        ),
    ],
)
def test_configs(make, expected):
    layer = make()
    config = layer.get_config()
    assert config == {"trainable": True, "dtype": None} | expected
    again = type(layer).from_config(config)
    assert again.get_config() == config


def test_a_config_of_kernels_by_name():
    config = L.SeparableConv2D(3, 2, depthwise_initializer="he_normal").get_config()
    assert config["depthwise_initializer"] == HE and config["pointwise_initializer"] is None
    assert L.SeparableConv2D.from_config(config).get_config() == config
    config = L.Conv2DTranspose(3, 2).get_config()
    assert L.Conv2DTranspose.from_config(config).get_config() == config


def test_a_layer_of_a_script_says_what_it_takes_or_refuses():
    class Plain(L.Layer):
        pass

    class Sized(L.Layer):
        def __init__(self, size):
            super().__init__()

    assert Plain().get_config() == {"name": "plain_1", "trainable": True, "dtype": None}
    with pytest.raises(
        NotImplementedError, match="Layers with arguments in `__init__` must override `get_config`"
    ):
        Sized(3).get_config()


def test_names_are_counted_from_one_and_scopes_are_not():
    first, second = L.Dense(2), L.Dense(2)
    assert (first.name, second.name, L.Flatten().name, L.Dense(2, name="own").name) == (
        *("dense_1", "dense_2", "flatten_1", "own"),
    )
    outputs = second(tf.ones([2, 2]))
    assert (second.name, second.scope_name, outputs.name) == ("dense_2", "dense", "dense/BiasAdd:0")


class Updating(L.Layer):
    def build(self, input_shape):
        self.moving = self.add_variable("moving", (), tf.float32, trainable=False)
        self.built = True

    def call(self, inputs):
        self.add_loss(tf.reduce_sum(inputs), inputs=True)
        self.add_loss(tf.reduce_sum(self.moving))
        self.add_update(self.moving.assign(tf.reduce_sum(inputs)))
        self.add_update(lambda: self.moving.assign_add(1.0))
        return inputs + 1.0


def test_losses_and_updates_of_inputs():
    layer, first, second = Updating(), tf.ones([2, 2]), tf.zeros([2, 2])
    layer(first)
    layer(second)
    assert len(layer.losses) == len(layer.updates) == 4
    for found in (layer.get_losses_for, layer.get_updates_for):
        assert [len(found(one)) for one in (first, second, [first, second], None)] == [1, 1, 2, 2]
    assert [one.op.inputs[0] for one in layer.get_losses_for(second)] == [second]


def test_the_regularizer_of_what_comes_out_is_a_loss_of_what_goes_in():
    layer, inputs = L.Dense(2, activity_regularizer=tf.reduce_sum, kernel_regularizer="l2"), tf.ones([2, 2])
    layer(inputs)
    assert layer.get_losses_for(inputs) == layer.losses[1:] and layer.get_losses_for(None) == layer.losses[:1]


def test_variables_that_are_read_together_are_not_trained():
    layer = L.Layer()
    together = tf.VariableSynchronization.ON_READ
    assert layer.add_variable("read", [2], synchronization=together) in layer.non_trainable_variables
    with pytest.raises(ValueError, match="ON_READ only for non-trainable variables"):
        layer.add_variable("trained", [2], synchronization=together, trainable=True)


def test_variables_of_a_getter_that_says_otherwise_are_not_trained():
    def fixed(getter, *args, **kwargs):
        return getter(*args, **kwargs | {"trainable": False})

    layer, parted = L.Dense(2), L.Dense(2)
    with tf.variable_scope("fixed", custom_getter=fixed):
        layer(tf.ones([2, 2]))
    with tf.variable_scope("parted", partitioner=tf.fixed_size_partitioner(2)):
        parted(tf.ones([2, 2]))
    assert layer.trainable_variables == parted.trainable_variables == []
    assert layer.non_trainable_variables == [layer.kernel, layer.bias]
    assert parted.non_trainable_variables == [parted.kernel, parted.bias]


def test_a_copied_layer_has_the_same_tensors():
    layer = L.Layer(name="own")
    layer.given, layer.several = tf.ones([]), [tf.ones([]), None]
    copied = copy.deepcopy(layer)
    assert copied is not layer and copied.given is layer.given and copied.several is layer.several


def test_shapes_of_outputs():
    assert L.Flatten().compute_output_shape((1, 2, 3, 2)).as_list() == [1, 12]
    assert L.Flatten().compute_output_shape((None, 3, None)).as_list() == [None, None]
    assert L.Dense(2).compute_output_shape((None, 4, 3)).as_list() == [None, 4, 2]
    for shape in (None, [], [1], [1, None]):
        with pytest.raises(ValueError):
            L.Dense(2).compute_output_shape(tf.TensorShape(shape))


def test_a_pool_wants_its_strides():
    with pytest.raises(ValueError, match="Argument `strides` must not be None"):
        L.max_pooling2d(tf.ones([1, 4, 4, 1]), 2, None)
