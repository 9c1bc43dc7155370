"""Small models with functions, as TensorFlow 2 writes them: calls, a loop and a conditional that nothing inlines."""

from google.protobuf import text_format

from gpuplace.graphdef.messages import FunctionDef, GraphDef, SavedModel

FLOAT = 1
ADD = """
  signature {
    name: "%s"
    input_arg { name: "x" type: DT_FLOAT }
    output_arg { name: "sum" type: DT_FLOAT }
  }
  node_def { name: "one" op: "Const" device: "%s"
    attr { key: "dtype" value { type: DT_FLOAT } }
    attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 } } } }
  node_def { name: "plus" op: "AddV2" input: "x" input: "one:output:0"
    attr { key: "T" value { type: DT_FLOAT } } }
  ret { key: "sum" value: "plus:z:0" }
"""
OUTER = """
  signature {
    name: "outer"
    input_arg { name: "x" type: DT_FLOAT }
    output_arg { name: "y" type: DT_FLOAT }
  }
  node_def { name: "call" op: "PartitionedCall" input: "x"
    attr { key: "Tin" value { list { type: DT_FLOAT } } }
    attr { key: "Tout" value { list { type: DT_FLOAT } } }
    attr { key: "f" value { func { name: "add" } } } }
  node_def { name: "twice" op: "Mul" input: "call:output:0" input: "x"
    attr { key: "T" value { type: DT_FLOAT } } }
  ret { key: "y" value: "twice:z:0" }
"""
TEMPLATE = """
  signature {
    name: "template"
    input_arg { name: "x" type_attr: "T" }
    output_arg { name: "y" type_attr: "T" }
    attr { name: "T" type: "type" }
  }
  node_def { name: "same" op: "Identity" input: "x" attr { key: "T" value { placeholder: "T" } } }
  ret { key: "y" value: "same:output:0" }
"""
GRAPH = """
  node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "call" op: "PartitionedCall" input: "x"
    attr { key: "Tin" value { list { type: DT_FLOAT } } }
    attr { key: "Tout" value { list { type: DT_FLOAT } } }
    attr { key: "f" value { func { name: "outer" } } } }
  node { name: "choose" op: "StatelessIf" input: "go" input: "x"
    attr { key: "Tcond" value { type: DT_BOOL } }
    attr { key: "Tin" value { list { type: DT_FLOAT } } }
    attr { key: "Tout" value { list { type: DT_FLOAT } } }
    attr { key: "else_branch" value { func { name: "add_on_gpu_1" } } }
    attr { key: "then_branch" value { func { name: "add" } } } }
  node { name: "go" op: "Placeholder" attr { key: "dtype" value { type: DT_BOOL } } }
  node { name: "saver" op: "NoOp" device: "/cpu:0" }
"""


def graph_def():
    """`x` into `call` of `outer`, which calls `add`; `choose` between `add` and `add_on_gpu_1`; `saver` apart."""
    made = text_format.Parse(GRAPH, GraphDef())
    for text in (ADD % ("add", ""), ADD % ("add_on_gpu_1", "/gpu:1"), OUTER, TEMPLATE):
        made.library.function.append(text_format.Parse(text, FunctionDef()))
    return made


def saved_model(*signatures: str, init: bool = True):
    """A SavedModel of it: each signature gives back `call`'s result; with the signature that TensorFlow adds."""
    made = SavedModel(saved_model_schema_version=1)
    meta = made.meta_graphs.add()
    meta.meta_info_def.tags.append("serve")
    meta.graph_def.CopyFrom(graph_def())
    for key in signatures:
        meta.signature_def[key].inputs["x"].name = "x:0"
        meta.signature_def[key].outputs["y"].name = "call:0"
    if init:
        meta.signature_def["__saved_model_init_op"].outputs["__saved_model_init_op"].name = "saver"
    return made


def with_tags(model, *tags: str, signature: str = "", node: str = "other"):
    """The model with one more graph of one node, under other tags."""
    meta = model.meta_graphs.add()
    meta.meta_info_def.tags.extend(tags)
    meta.graph_def.node.add(name=node, op="Placeholder").attr["dtype"].type = FLOAT
    if signature:
        meta.signature_def[signature].outputs["y"].name = f"{node}:0"
    return model


def folder(path, model):
    """The path of a folder with the model."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "saved_model.pb").write_bytes(model.SerializeToString(deterministic=True))
    return path
