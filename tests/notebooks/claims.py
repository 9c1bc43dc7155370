"""What the lessons say about TensorFlow, and what holds each sentence.

A claim is a piece of a lesson's text, and its evidence: an answer of TensorFlow's placers to a small graph, what a
program printed when TensorFlow ran it, or a test by name. `test_claims.py` looks for the text, compares the answers,
and finds sentences without a claim. If you write a sentence about TensorFlow, add it here.
"""

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Placed:
    """A recorded answer of TensorFlow's placers."""

    graph: str
    """A graph of `tests/support/corner_graphs.py`, or of `claim_programs.py`."""
    answer: dict[str, str] | str
    """Devices of some of its nodes, or the beginning of the error."""
    soft: bool = False
    """Whether soft placement is allowed."""
    machine: str = "2 GPU"
    """As in `tests/data/placements.json.gz`."""
    releases: tuple[str, ...] = ("1.15", "2.21")
    """Which releases answer so."""


class Program(NamedTuple):
    """A program of `claim_programs.py`, which prints the same under TensorFlow 1.15.5 and 2.21 and here."""

    name: str


class Claim(NamedTuple):
    """A sentence, or the part of it that makes it recognizable, and what holds it."""

    lesson: str
    says: str
    evidence: tuple[Placed | Program | str, ...]


GUIDE = "test_using_gpus_guide.py::"
PROCESS = "test_process_state.py::"
BFC = "test_bfc_allocator.py::"
TOY = "test_toy_placements.py::"
ON_GPU = Placed("guide: product", {"a": "GPU:0", "b": "GPU:0", "m": "GPU:0"})
MISSING = Placed(
    "request /gpu:7", "Cannot assign a device for operation n: {{node n}} was explicitly assigned"
)
INT32 = Placed("int32 variable on a GPU", "Cannot assign a device for operation v: Could not satisfy")
IDENTITY_1_15 = Placed("identity follows", {"p": "CPU:0", "i": "GPU:0"}, releases=("1.15",))
IDENTITY_2_21 = (
    Placed("identity follows", {"p": "CPU:0", "i": "CPU:0"}, releases=("2.21",)),
    Placed("identity, requests equal", {"p": "CPU:0", "i": "CPU:0"}, releases=("2.21",)),
    Placed("identity, requests differ", {"p": "CPU:0", "i": "GPU:0"}, releases=("2.21",)),
    Placed("identity without consumer", {"p": "CPU:0", "i": "CPU:0"}, releases=("2.21",)),
    Placed("identity with two consumers", {"p": "CPU:0", "i": "GPU:0"}, releases=("2.21",)),
    Placed("identity with a control input", {"p": "CPU:0", "i": "GPU:0"}, releases=("2.21",)),
)
LOG = ("test_logs_as_tensorflow.py::test_the_lines_and_their_order", Program("a graph that grows"))
C_LOG = ("test_tensorflow_logs.py::test_every_line_is_in_a_table",)

_TABLE: dict[str, list[tuple]] = {
    "01": [
        (
            "TensorFlow calls each of them a **device**",
            "test_spec.py::test_answers_equal_those_of_tensorflow",
        ),
        (
            "this process sees it as number 0, and TensorFlow turns it into",
            GUIDE + "test_logging_device_placement",
        ),
        ("TensorFlow itself always prints the full name.", Program("devices of a computer")),
        (
            "A device belongs to a task of a job",
            "test_cluster_scripts.py::test_both_releases_of_tensorflow_say_the_same",
        ),
        ("`/cpu:0` is not the first *core*.", Program("devices of a computer")),
        ("If there are kernels for both, TensorFlow prefers the GPU.", ON_GPU),
        (
            "These are the kernels that TensorFlow 1.15 has for `MatMul`",
            "test_registry.py::test_labels_choose_among_rows",
            "test_extract_catalogue.py::test_extracting_again_gives_the_same_files",
        ),
        ('"GPU first" is a fixed order of preference. TensorFlow 1 measures nothing', ON_GPU),
    ],
    "02": [
        ("TensorFlow can log the devices", *LOG),
        (
            "A constant has no inputs, so TensorFlow can first see where its consumers go.",
            Placed("constant goes with its consumer", {"a": "CPU:0", "n": "CPU:0"}),
            *LOG,
        ),
        (
            "If you add something to the graph, the **whole** graph is placed and logged again",
            Program("a graph that grows"),
        ),
        (
            "The log lists the operations of the *graph*, not those that ran.",
            "test_session.py::test_the_whole_graph_is_placed_even_where_the_fetch_does_not_need_it",
        ),
        ("In TensorFlow the lines are not written by Python.", *C_LOG),
        ("With TensorFlow itself `%%capture` catches nothing", *C_LOG),
        ("The second is from TensorFlow 1.15", "test_log_samples.py::test_recorded"),
        (
            "Types that begin with `_` are operations that TensorFlow adds for the run",
            "test_step_stats.py::test_nodes_by_device",
            "test_run_metadata.py::test_partition_graphs",
        ),
        ("The third is from TensorFlow 2, which runs each operation at once", *C_LOG),
    ],
    "03": [
        (
            "Every operation created inside `with tf.device(...)` carries a",
            Program("a session decides nothing"),
        ),
        (
            "both inputs have to be **copied** there first. TensorFlow does that by itself.",
            "test_place.py::test_edges_know_types_shapes_and_bytes",
            "test_run_metadata.py::test_partition_graphs",
        ),
        (
            "The exception is a result that depends only on constants: it is computed once and kept.",
            "test_constant_folding.py::test_both_foldings_have_to_be_switched_off",
        ),
        (
            "Yes, or the run fails, unless soft placement is on",
            MISSING,
            Placed("request /gpu:7", {"n": "GPU:0"}, soft=True),
            Placed("read yields", {"v": "GPU:0", "r": "GPU:0"}),
        ),
        (
            "Moving *one* operation of a chain",
            "test_clock.py::test_copies_wait_for_kernels_before_them_and_for_links_that_they_share",
        ),
    ],
    "04": [
        (
            "TensorFlow reserves nearly all the memory of every GPU that it sees",
            BFC + "test_without_growth_the_first_allocation_takes_everything",
        ),
        (
            "at the first allocation TensorFlow takes everything up to the limit",
            BFC + "test_without_growth_the_first_allocation_takes_everything",
        ),
        (
            "The first region has 1 MiB (in TensorFlow 1)",
            BFC + "test_growth_doubles",
            BFC + "test_growth_of_2_21_begins_with_2_mib",
        ),
        (
            "later region is normally twice as large as the one before",
            BFC + "test_growth_doubles",
        ),
        (
            "`allow_growth` does not make a program need less memory",
            BFC + "test_growth_and_return_of_idle_regions",
        ),
        (
            "TensorFlow 1.15 returns completely free regions in one case only",
            BFC + "test_garbage_collection_gives_idle_regions_back",
        ),
        (
            "If a later session asks for something else, TensorFlow says nothing.",
            PROCESS + "test_first_memory_options_win_and_the_others_are_told",
        ),
        (
            "you need a new process, so you would restart the kernel",
            PROCESS + "test_first_memory_options_win_and_the_others_are_told",
        ),
        (
            "it is the reason why TensorFlow prefers to take one large region",
            BFC + "test_regions_are_not_joined",
        ),
    ],
    "05": [
        ("TensorFlow does not use several GPUs by itself.", ON_GPU),
        ("First comes TensorFlow's own message", MISSING),
        (
            "The guide of releases 1.0 to 1.4 quotes a message that is older still.",
            GUIDE + "test_a_device_that_does_not_exist_as_the_guide_says_it",
        ),
        ("lets TensorFlow choose another device", Placed("request /gpu:7", {"n": "GPU:0"}, soft=True)),
        (
            "TensorFlow dropped both the number *and* the type",
            Placed("request /cpu:3", {"n": "GPU:0"}, soft=True, machine="2 CPU, 11 GPU"),
        ),
        (
            "Soft placement does not look for",
            Placed("request /cpu:3", {"n": "GPU:0"}, soft=True, machine="2 CPU, 11 GPU"),
        ),
    ],
    "06": [
        ("TensorFlow 1 does not distribute a graph over the GPUs.", ON_GPU),
        (
            "so the operations that it created had no request",
            Program("updates and gradients"),
        ),
    ],
    "07": [
        (
            "This environment variable belongs to CUDA, not to TensorFlow.",
            PROCESS + "test_visible_devices_are_read_when_devices_are_first_made",
        ),
        (
            "CUDA puts the fastest card first",
            "test_visible.py::test_cuda_counts_fastest_first_unless_told_otherwise",
        ),
        ("`/gpu:0` is not a card.", "test_visible.py::test_what_a_process_sees"),
        (
            "The second setting came too late",
            PROCESS + "test_later_changes_of_visible_devices_have_no_effect_and_are_told",
        ),
        (
            "without falling into TensorFlow 1's best-known trap",
            PROCESS + "test_a_gpu_device_stays_on_its_gpu",
        ),
        (
            "could not distinguish two cards with the same name, so TensorFlow refuses.",
            PROCESS + "test_a_gpu_device_stays_on_its_gpu",
            PROCESS + "test_old_releases_move_it_silently_here_with_a_warning",
        ),
    ],
    "08": [
        ("You cannot tell a session to run on GPU 1.", Program("a session decides nothing")),
        (
            "Each session has its *own* values of the variables",
            "test_session.py::test_sessions_on_one_graph_have_their_own_variables",
        ),
    ],
    "09": [
        (
            "`tf.get_variable` colocates both with the variable. It also clears the request of the first value",
            "test_graphs_as_tensorflow.py::test_nodes_are_those_of_tensorflow",
        ),
        (
            '"Put the update on the GPU" is not possible',
            Placed("assign yields", {"v": "GPU:0", "w": "GPU:0"}),
            Program("updates and gradients"),
        ),
        (
            "TensorFlow keeps `int32` in the CPU's memory",
            INT32,
            "test_registry.py::test_int32_in_host_memory_moved_to_default_rows",
        ),
        ("Three CPU devices are the same cores under three names", Program("devices of a computer")),
    ],
    "10": [
        (
            "asked for a name that exists, it refuses, unless the **variable scope** around it says `reuse`",
            Program("a name twice"),
        ),
        ("`reuse=True` fails if the variable does not exist yet.", Program("a name twice")),
        ("`tf.name_scope` names operations, and `get_variable` ignores it", Program("two kinds of scope")),
        ("Names of operations are never reused", Program("two kinds of scope")),
        ("TensorFlow passes each gradient through an `Identity`", Program("the average of halves")),
        ("`tf.Variable(...)` never reuses anything.", Program("variables of towers")),
        (
            "Is the average over two half batches the gradient of the whole batch?",
            Program("the average of halves"),
        ),
    ],
    "11": [
        (
            "A copy **waits for the kernels that its GPU has queued before it**.",
            "test_clock.py::test_copies_wait_for_kernels_before_them_and_for_links_that_they_share",
        ),
        (
            "The critical path shows what *depends* on what.",
            "test_reader.py::test_the_critical_path_is_the_one_of_pictures",
        ),
        (
            "A TensorFlow program gives you the same picture from its `RunMetadata`",
            "test_reader.py::test_steps_of_tensorflow",
        ),
        (
            "A control dependency between two GPUs is a signal",
            "test_clock.py::test_what_only_waits_for_another_device_gets_a_signal_without_bytes",
        ),
    ],
    "12": [
        ("`SaveV2` has no GPU kernel", Placed("save from two devices", {"v": "GPU:0", "s": "CPU:0"})),
        ("`saver.save` writes a **checkpoint** (`.index` and `.data`)", Program("restored and initialized")),
        ("`global_step=100` adds `-100` to the names", Program("restored and initialized")),
        ("The file called `checkpoint` names the newest", Program("restored and initialized")),
        ("`saver.save` fetches `save/control_dependency`", Program("restored and initialized")),
        (
            "a variable that the checkpoint does not have cannot be restored",
            Program("restored and initialized"),
        ),
        ("Restoring replaces initializing", Program("restored and initialized")),
        ("**with the devices that it was saved with**", Program("devices of a meta graph")),
        ("`clear_devices=True` removes **all** requests", Program("devices of a meta graph")),
    ],
    "13": [
        (
            "`enqueue` waits while it is full, `dequeue` waits while it is empty",
            "test_queues.py::test_a_step_waits_for_another_and_lets_others_run",
        ),
        (
            "a `Coordinator` stops them",
            "test_queue_runner.py::test_asked_to_stop_a_runner_stops_though_it_waits",
        ),
        (
            "goes to the queue's device. The request is overridden, even without soft placement",
            Placed("read yields", {"v": "GPU:0", "r": "GPU:0"}),
            "test_scripts.py::test_devices_of_a_machine_with_gpus",
        ),
        (
            "More towers do not mean fewer bytes.",
            "test_towers_of_one_queue.py::test_each_tower_computes_with_what_it_took",
        ),
        (
            "Every GPU has a copy of every variable, and the gradients of all replicas update each copy.",
            "test_strategies_as_tensorflow.py::test_as_tensorflow_builds_it",
        ),
    ],
    "14": [("A model divided by layers uses four GPUs", "test_lessons.py::test_facts")],
    "15": [
        (
            "TensorFlow reports no error and gives no warning: the step only takes longer.",
            Program("updates and gradients"),
        ),
        (
            "The **order** of the step follows TensorFlow's executor",
            "test_clock.py::test_everything_runs_once_and_after_what_it_waits_for",
        ),
        (
            "is advice from the time of slow GPUs",
            "test_towers.py::test_every_row_is_an_estimate_of_its_own_program",
        ),
        (
            "A GPU that is busy for a fifth of the time",
            "test_estimate.py::test_towers_send_each_tensor_once_and_share_links",
        ),
        (
            "are predicted within 7 %, and nine in ten within 26 %",
            "test_claims.py::test_errors_of_kernel_times_are_those_of_the_page",
        ),
        ("is exact, to the byte", "test_step_memory.py::test_the_predicted_peak_is_the_allocators"),
    ],
    "16": [
        ("TensorFlow's placement rules ignore costs", ON_GPU),
        ("That is TensorFlow's default: everything is on `GPU:0`", ON_GPU),
        ("any TensorFlow places it", "test_against_tensorflow.py::test_random_graphs"),
        ("TensorFlow's default runs out of memory", ON_GPU),
        (
            "A large gap does not mean that there is a better placement.",
            "test_search.py::test_small_problems_are_split_best",
        ),
        (
            "**The placement** is TensorFlow's own, node by node.",
            "test_against_tensorflow.py::test_random_graphs",
        ),
    ],
    "17": [
        (
            "`server.target` is not the address of a master",
            "test_sessions.py::test_variables_outlive_sessions_and_all_masters_see_them",
        ),
        (
            "TensorFlow cuts an edge between two tasks",
            "test_traces.py::test_sends_and_receives_are_in_the_lists_of_both_tasks",
        ),
        (
            "constants are sent like everything else",
            "test_partition.py::test_tasks_send_what_the_placement_copies",
        ),
        ("All 100 steps count", "test_training.py::test_asynchronous_training_counts_every_step"),
        (
            "The workers computed ten gradients and took five steps.",
            "test_training.py::test_synchronous_training_takes_the_mean_of_all_workers",
        ),
        (
            "A session does not simply continue without a failed task",
            "test_sessions.py::test_device_filters",
        ),
        (
            "with a `checkpoint_dir`, `MonitoredTrainingSession` restores it by itself",
            "test_training.py::test_the_chief_goes_on_from_its_checkpoint_when_a_parameter_server_is_back",
        ),
        ("Which error does TensorFlow report?", MISSING),
    ],
    "18": [
        ("TensorFlow logs placement from C++", *C_LOG),
        ("which TensorFlow writes once, when it places the function", *C_LOG),
        (
            "Up to 2.21, that function does not reach ops that run eagerly once one has run",
            "test_capture.py::test_a_context_that_has_run_ops_is_told_too",
        ),
    ],
    "20": [
        (
            "TensorFlow then drops a request that it cannot satisfy",
            Placed("request /gpu:7", {"n": "GPU:0"}, soft=True),
        ),
        ("TensorFlow prints the full name", Program("devices of a computer")),
        (
            "this process sees it as number 0, and TensorFlow turns it into",
            GUIDE + "test_logging_device_placement",
        ),
        (
            "TensorFlow 1.4 used slightly different words",
            "test_placement_log.py::test_lines_of_each_release",
        ),
        ("TensorFlow does that by itself.", "test_run_metadata.py::test_partition_graphs"),
        (
            "TensorFlow reserves nearly all the memory of every GPU it sees",
            BFC + "test_without_growth_the_first_allocation_takes_everything",
        ),
        (
            "TensorFlow keeps them until the process ends",
            PROCESS + "test_first_memory_options_win_and_the_others_are_told",
        ),
        ("TensorFlow refuses to guess:", MISSING),
        (
            "The guide of release 1.4 quotes the error in this form",
            GUIDE + "test_a_device_that_does_not_exist_as_the_guide_says_it",
        ),
        ("The log of 1.4 has no types.", "test_placement_log.py::test_lines_of_each_release"),
    ],
    "21": [
        (
            "They are the rules of TensorFlow 1.15.",
            "test_recorded_placements.py::test_as_tensorflow_places_it",
        ),
        (
            "it inlines the functions that the graph calls",
            "test_calls.py::test_as_tensorflow_places_it",
        ),
        (
            "The placer joins operations that must share a device into **groups**",
            Placed("edges before colocations", "Cannot place the graph because a reference or resource edge"),
        ),
        (
            "The placer visits the operations in graph order.",
            "test_placement_graph.py::test_the_smallest_ready_node_is_visited_next",
        ),
        ("it takes the devices for which all members of the group have a **kernel**", INT32),
        (
            "The member that it visits first decides for its group.",
            Placed("assign yields", {"v": "GPU:0", "w": "GPU:0"}),
        ),
        (
            "wait until everything else has been placed",
            Placed("constant goes with its consumer", {"a": "CPU:0"}),
        ),
        (
            "A device without a kernel for the operation is never a candidate.",
            Placed("int32 has few GPU kernels", {"p": "CPU:0", "n": "GPU:0"}),
        ),
        (
            "`MatMul` has no GPU kernel for integers",
            "test_registry.py::test_known_rows",
            "test_claims.py::test_kernels_of_matmul",
        ),
        (
            "Its two consumers are on different devices, so it cannot follow them",
            Placed("constant with two consumers", {"a": "GPU:0"}),
        ),
        (
            "the device type whose kernel has the higher **priority**",
            TOY + "test_kernel_priority_beats_device_type",
            TOY + "test_conflicting_priorities_cancel_out",
            Placed("prefetch prefers the CPU", {"p": "CPU:0"}),
        ),
        ("the **GPU** before the CPU", ON_GPU),
        ("the device whose **name** comes first, compared as text", TOY + "test_names_are_compared_as_text"),
        ("Compared as text, `GPU:10` comes before `GPU:2`.", TOY + "test_names_are_compared_as_text"),
        ("TensorFlow measures nothing and does not balance load", ON_GPU),
        (
            "TensorFlow merges nested `tf.device` blocks part by part",
            "test_scopes.py::test_what_a_block_asks_for",
            "test_spec.py::test_answers_equal_those_of_tensorflow",
        ),
        ('A missing part, or `*`, means "any".', Placed("request /device:GPU:*", {"n": "GPU:0"})),
        ("`tf.device(None)` clears", "test_scopes.py::test_what_a_block_asks_for"),
        ("A request for a device that does not exist is an error", MISSING, INT32),
        ("After an error, no operation has a device.", MISSING),
        (
            "If several things are wrong, TensorFlow reports only the first",
            Placed("first fault of several", "Cannot assign a device for operation x:"),
        ),
        (
            "It looks for malformed device names and operations without any kernel, then for conflicts",
            Placed("malformed before edges", "Malformed device specification '/gpu'"),
            Placed("edges before colocations", "Cannot place the graph because a reference or resource edge"),
            Placed("colocations before devices", "Cannot colocate nodes"),
        ),
        (
            "the placer relaxes a request that it cannot meet",
            Placed("request /gpu:7", {"n": "GPU:0"}, soft=True),
        ),
        (
            "It drops the device type and the index together, in one step.",
            Placed("request /cpu:3", {"n": "GPU:0"}, soft=True, machine="2 CPU, 11 GPU"),
        ),
        (
            "It never drops job, replica or task.",
            Placed("wrong job, soft", "Cannot assign a device for operation n", soft=True),
        ),
        ("There is no step that drops only the index", Placed("request /cpu:3", {"n": "GPU:0"}, soft=True)),
        (
            "the operations that change it must run there",
            Placed("assign yields", {"v": "GPU:0", "w": "GPU:0"}),
        ),
        (
            "In the graph these are the consumers that take a *reference*",
            Placed("read yields", {"v": "GPU:0", "r": "GPU:0"}),
            Placed("hash table", {"t": "CPU:0", "f": "CPU:0"}),
        ),
        (
            "The placer joins them with the variable into one group",
            Placed("assign yields", {"v": "GPU:0", "w": "GPU:0"}),
        ),
        ("`tf.assign_add` copies the variable's request", Program("updates and gradients")),
        (
            "A group can only use devices for which **all** its members have a kernel.",
            Placed(
                "update without a GPU kernel", "Cannot assign a device for operation v", releases=("1.15",)
            ),
        ),
        (
            "One operation without a GPU kernel therefore keeps a variable",
            Placed(
                "update without a GPU kernel", {"v": "CPU:0", "u": "CPU:0"}, soft=True, releases=("1.15",)
            ),
        ),
        (
            "The usual case is a step counter of type `int32`",
            Placed("int32 variable", {"v": "CPU:0", "w": "CPU:0"}),
        ),
        (
            "the consumer's request is overridden",
            Placed("assign yields", {"v": "GPU:0", "w": "GPU:0"}),
            Placed("read yields", {"r": "GPU:0"}),
        ),
        (
            "If the variable has no request, or a less specific one",
            Placed("variable takes the request", {"v": "CPU:0", "w": "CPU:0"}),
            Placed("vaguer variable", {"v": "GPU:1", "w": "GPU:1"}),
        ),
        (
            "If no device type has kernels for all members, the placement fails",
            TOY + "test_kernels_that_exclude_each_other_across_a_reference_edge",
        ),
        (
            "writes the name of another operation into the graph",
            "test_scopes.py::test_the_colocations_asked_for_and_their_lines",
        ),
        (
            "The placer puts both into one group.",
            Placed("colocated", {"a": "CPU:0", "b": "CPU:0", "n": "CPU:0"}),
        ),
        (
            "Gradients and optimizers use this a lot.",
            "test_graphs_as_tensorflow.py::test_nodes_are_those_of_tensorflow",
        ),
        (
            "Unlike on an edge, no request is overridden here",
            Placed("colocation clash", "Cannot colocate nodes"),
        ),
        (
            "a contradiction between two indices drops the index",
            Placed("colocation, ids clash", {"a": "GPU:0", "b": "GPU:0"}, soft=True),
            Placed("colocation clash", {"a": "GPU:0", "b": "GPU:0"}, soft=True),
        ),
        (
            "If the members have no device type in common, soft placement ignores the colocation.",
            Placed("no common kernel", {"n": "GPU:0", "t": "CPU:0"}, soft=True),
            Placed("no common kernel", "Cannot colocate nodes"),
        ),
        (
            "A generator is an operation without data inputs",
            Placed("placeholder follows", {"a": "CPU:0"}),
            Placed("variable takes the request", {"x": "CPU:0"}),
        ),
        (
            "Random numbers are not generators",
            Placed("random numbers do not follow", {"u": "GPU:0", "n": "GPU:1"}),
        ),
        ("The placer visits generators last.", "test_placement_log.py::test_order_of_lines"),
        (
            "If all edges out of a generator, control edges included",
            Placed("control edge counts", {"a": "GPU:0", "n": "CPU:0", "o": "GPU:0"}),
        ),
        ("Otherwise it takes the default.", Placed("constant with two consumers", {"a": "GPU:0"})),
        ("This is also why constants come last in the log", *LOG),
        (
            "`Shape`, `Size` and `Rank` need a tensor's shape",
            Placed("size and rank", {"s": "CPU:0", "r": "CPU:0"}),
        ),
        (
            "They go to the device of their input if they can",
            Placed("shape goes with its input", {"n": "CPU:0", "s": "CPU:0"}),
        ),
        (
            "If the input has no device yet, they take the default.",
            Placed("shape of a constant", {"a": "CPU:0", "s": "GPU:0"}),
        ),
        (
            "That happens when the input is a generator",
            Placed("shape of a constant", {"a": "CPU:0", "s": "GPU:0"}),
        ),
        (
            "it inlines `While`, `If` and `Case` where the node has the attribute",
            "test_rewrite.py::test_as_tensorflow_places_it",
            "test_claims.py::test_flow_without_the_attribute_is_left_alone",
        ),
        (
            "It replaces `AccumulateNV2` and `ParallelConcat`",
            "test_rewrite.py::test_as_tensorflow_places_it",
        ),
        (
            "build `Switch`, `Merge` and `Enter` nodes themselves",
            "test_graphs_as_tensorflow.py::test_nodes_are_those_of_tensorflow",
        ),
        ("A session places its graph at the first `run`", *LOG),
        (
            "Only operations with state, such as variables, tables and queues, keep their device",
            Program("a graph that grows"),
        ),
        ("`x` follows its only consumer to the CPU", Program("a graph that grows")),
        ("TensorFlow 1.15 registers 1,400 op types", "test_claims.py::test_kernel_counts"),
        (
            "For integers or `bool`, 249 op types have a GPU kernel in 1.15, and 296 in 2.21.",
            "test_claims.py::test_kernel_counts",
        ),
        ("An `Identity` without a request goes where its **input** is", *IDENTITY_2_21),
        ("In 1.15 it goes to the GPU.", IDENTITY_1_15),
        (
            "An edge that carries a dataset ties its two ends",
            "test_host_data.py::test_a_control_edge_is_enough_for_what_passes_variants_on",
            "test_recorded_placements.py::test_as_tensorflow_places_it",
        ),
        ("1.15 does. 2.21 keeps the identity where its input is", IDENTITY_1_15, *IDENTITY_2_21),
    ],
    "22": [
        (
            "extracted from TensorFlow's binaries",
            "test_extract_catalogue.py::test_extracting_again_gives_the_same_files",
        ),
        ("belongs to an allocator that works like TensorFlow's", BFC + "test_regions_are_not_joined"),
        ("in TensorFlow's own message, `StepStats`", "test_step_stats.py::test_nodes_by_device"),
    ],
}
CLAIMS = [Claim(lesson, says, tuple(evidence)) for lesson, rows in _TABLE.items() for says, *evidence in rows]

NO_CLAIMS = {
    "00": (
        "Lessons about devices,",
        "Nothing here needs a GPU",
        "all follow TensorFlow's rules",
        "I have TensorFlow",
        '"TensorFlow device (GPU:0)',
        "Your own TensorFlow program]",
    ),
    "01": ("while names, placement, memory and errors follow TensorFlow's rules",),
    "02": ('`tf.set_release("1.4")` makes gpuplace use',),
    "03": ("You do not have to accept what TensorFlow chooses.",),
    "04": ("And with 1.5?",),
    "07": ("is the name in TensorFlow.",),
    "08": ("'Hello, TensorFlow!'",),
    "13": ("it takes 1.7 times as long",),
    "14": ("Two towers are 1.7 times as fast",),
    "16": ("follows TensorFlow's own rules", "1.4 times as fast instead of 1.8 times"),
    "18": (
        "A section at the end is for TensorFlow 1 programs.",
        "the V100 is 1.8 times as fast",
        "needs no TensorFlow here",
        "turn the log on with",
        "ops of your own TensorFlow 2 program",
        "The lesson uses the TensorFlow",
        "recorded results of TensorFlow 2.21",
        "Without TensorFlow, its exported",
        "keeps TensorFlow's lines out",
    ),
    "20": (
        "the log that TensorFlow would print",
        "all follow TensorFlow's rules",
        "a fraction of 1.5",
        "1.4 and look at *Log*",
    ),
    "21": (
        "With the rules on this page",
        "here they are in the order in which TensorFlow applies them",
        "A section near the end",
        "`tf.place(graph)` places a graph",
        "`GPU:1` instead of",
        "The *requested* device is",
        "A kernel is the code of one op type",
        "`a` is an `int32` constant",
        "If several devices are left",
        "To see that, create a machine",
        "`tf.place(..., on_error",
        "`no_such_cpu` requested a CPU",
        "Here you can apply the rules so far",
        "`/gpu:2` does not exist on this machine",
        "`update` requested the GPU",
        "`doubled` is not tied",
        "Some operations never reach the placer.",
        "The new nodes have new names",
        "Everything else may move",
        "`tf.place(graph, assigned",
        '`release="2.21"` places',
        "The page about [releases]",
        "Every view names the rule",
        "For a whole graph, look at the table",
        "- Kernels:",
    ),
    "22": (
        "TensorFlow's dtypes, partial shapes",
        "TensorFlow's logs, SVG",
        "which GPU became which TensorFlow device",
        "the tests compare every node",
        "recorded answers of TensorFlow, for every op",
        "Every sentence about TensorFlow has a test.",
        "You need TensorFlow to record",
    ),
}
"""Sentences that name TensorFlow, or stand in the lesson of rules, and claim nothing about it."""
