"""Variables and graphs kept in files: savers, meta graphs, SavedModels, frozen graphs.

checkpoint_state   the file that names the last checkpoints       saveables   what a saver can save
builder            a saver's part of the graph                    saver       tf.train.Saver
meta_graph         a graph with what belongs to it, out and in    protos      variables, loops, savers as messages
signatures, saved_model_builder, saved_model_loader               tf.saved_model
graph_util         parts of GraphDefs, and variables frozen into constants
"""
