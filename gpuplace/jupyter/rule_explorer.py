"""The rules that settle a node's device, with controls for what they depend on.

Each rule is a row, in which the devices that it removes are struck out. The rows are those of `Placement.explain`. A
saved notebook keeps the rows of the last choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import traitlets

from gpuplace.callers import OwnFramesHidden
from gpuplace.dtypes import DType, as_dtype
from gpuplace.errors import OpError
from gpuplace.graph.graph import Graph
from gpuplace.jupyter.explorer.views import STYLE, ModuleWidget
from gpuplace.release import RELEASES, get_release
from gpuplace.runtime.session.place import place
from gpuplace.typing import MachineLike
from gpuplace.views.tables import html
from gpuplace.web.modules import widget_module
from gpuplace.why.explanation import Explanation


class RuleExplorer(ModuleWidget):
    """The rules that settle the device of a program's result, with controls for request, dtype and release.

    Args:
        program: function that is called with a dtype, builds a graph, and returns the tensor or operation to explain.
        dtypes: names of the dtypes to choose from.
        machine: the machine; None for the current one.
    """

    _esm = widget_module("gpuplace/widgets/rule_view.js")
    _css = STYLE

    request = traitlets.Unicode("", help="Request of ``tf.device`` around the program; empty for none.").tag(
        sync=True
    )
    dtype = traitlets.Unicode(help="Dtype that the program is called with.").tag(sync=True)
    release = traitlets.Enum(RELEASES, help="TensorFlow release whose rules apply.").tag(sync=True)
    soft_placement = traitlets.Bool(False, help="Whether soft placement is on.").tag(sync=True)
    choices: Any = traitlets.List().tag(sync=True)
    """The controls: ``name`` of a trait, ``label``, and ``options`` as values and texts, or None for a checkbox."""
    rules = traitlets.Unicode().tag(sync=True)
    """The rules as HTML."""

    def __init__(
        self, program: Callable[[DType], Any], dtypes: Sequence[str], machine: MachineLike | None
    ) -> None:
        self._program, self._machine = program, machine
        self.explanation: Explanation | None = None
        """Why the result has its device; None after an error."""
        self.error: Exception | None = None
        """Error of the program, which cannot build its graph with this dtype."""
        labels = place(Graph(), machine).device_labels
        gpus = sum(label.startswith("GPU") for label in labels)
        requests = [f"/{label.lower()}" for label in (*labels, f"GPU:{gpus}")]  # the last GPU does not exist
        self._options = {
            "request": {"": "no request", **{name: name for name in requests}},
            "dtype": {name: name for name in dtypes},
            "release": {name: name for name in RELEASES},
        }
        choices: list[dict[str, Any]] = [
            {"name": name, "label": label, "options": list(options.items())}
            for (name, options), label in zip(
                self._options.items(), ("tf.device", "dtype", "TensorFlow"), strict=True
            )
        ]
        choices.append({"name": "soft_placement", "label": "soft placement", "options": None})
        super().__init__(choices=choices, dtype=dtypes[0], release=get_release())
        self.observe(self._place, [choice["name"] for choice in choices])
        self._place()

    @traitlets.validate("request", "dtype")
    def _check(self, proposal: Any) -> str:
        name, value = proposal["trait"].name, str(proposal["value"])
        if value not in self._options[name]:
            raise traitlets.TraitError(
                f"{value!r} is none of the {name}s: {', '.join(map(repr, self._options[name]))}"
            )
        return value

    def _place(self, _change: Any = None) -> None:
        """Build the graph, place it, and show the rules."""
        self.explanation, self.error = None, None
        try:
            with OwnFramesHidden(OpError), Graph().as_default() as graph, graph.device(self.request or None):
                result = self._program(as_dtype(self.dtype))
            placement = place(
                graph,
                self._machine,
                release=self.release,
                soft_placement=self.soft_placement,
                on_error="keep",
            )
            self.explanation = placement.explain(getattr(result, "op", result).name)
        except (OpError, TypeError, ValueError) as error:  # shown where the user looks
            self.error = error
        self.rules = html.error_html(self.error) if self.error else html.explanation_html(self.explanation)

    @property
    def text(self) -> str:
        """The choice in one line."""
        soft = "with" if self.soft_placement else "without"
        around = f"tf.device({self.request!r})" if self.request else "no request"
        return f"{around}, {self.dtype}, TensorFlow {self.release}, {soft} soft placement"

    def __repr__(self) -> str:
        return f"<RuleExplorer: {self.text}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Return the widget and, for readers without a kernel, the rules of this choice."""
        bundle = super()._repr_mimebundle_(**kwargs)
        live = bundle[0] if isinstance(bundle, tuple) else bundle or {}
        shown = f"<p>{html.escape(self.text)}</p>{self.rules}"
        return {**live, "text/html": shown, "text/plain": f"{self.text}\n{self.error or self.explanation}"}
