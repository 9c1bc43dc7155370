"""What a type checker has to find, each line with the code of mypy's error; read, not run."""

import gpuplace as tf

tf.nonsense  # attr-defined
tf.place()  # call-arg
tf.place(1)  # arg-type
tf.place("graph.pb", release=2.21)  # arg-type
tf.place("graph.pb").frme()  # attr-defined
tf.place("graph.pb").picture(colours="cause")  # call-arg
tf.parse_log("run.log").timeline  # attr-defined
tf.Graph().as_graphdef()  # attr-defined
tf.Session().timeline()  # call-arg
tf.use_machine(4)  # call-overload
tf.Session(config="gpu")  # arg-type
tf.Session().run(3)  # arg-type
tf.constant(1.0, dtype=1.0)  # arg-type
tf.matmul(None, [1.0])  # arg-type
tf.nn.relu(tf.Graph())  # arg-type
tf.placeholder(tf.float32, shape="rows")  # arg-type
tf.constant(1.0) + tf.no_op()  # operator
tf.get_variable("v", shape=[2], regularizer=0.1)  # arg-type
with tf.device(0):  # arg-type
    pass
