"""What a type checker has to find, each line with the code of mypy's error; read, not run."""

import gpuplace as tf

tf.nonsense  # attr-defined
tf.place()  # call-arg
tf.place(1)  # arg-type
tf.place("graph.pb", release=2.21)  # arg-type
tf.place("graph.pb").frme()  # attr-defined
tf.place("graph.pb").picture(color="cause")  # call-arg
tf.parse_log("run.log").timeline  # attr-defined
tf.Graph().as_graphdef()  # attr-defined
tf.Session().timeline()  # call-arg
tf.use_machine(4)  # call-overload
with tf.device(0):  # arg-type
    pass
