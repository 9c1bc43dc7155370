"""Save variables and graphs to files: savers, meta graphs, SavedModels, frozen graphs.

checkpoint_state   the file that lists the last checkpoints       saveables   the objects that a saver can save
builder            a saver's part of the graph                    saver       tf.train.Saver
meta_graph         meta graphs, written and read                  protos      variables, loops, savers as messages
signatures, saved_model_builder, saved_model_loader               tf.saved_model
graph_util         parts of GraphDefs, and variables frozen to constants
"""
