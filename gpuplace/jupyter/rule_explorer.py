"""The rules that settle a node's device, with controls for what they depend on.

Each rule is a row, in which the devices that it removes are struck out. The rows are those of `Placement.explain`. A
saved notebook keeps the rows of the last choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets
import traitlets

from gpuplace.callers import OwnFramesHidden
from gpuplace.dtypes import DType, as_dtype
from gpuplace.errors import OpError
from gpuplace.graph.graph import Graph
from gpuplace.release import RELEASES, get_release
from gpuplace.runtime.session.place import place
from gpuplace.typing import MachineLike, OperationLike
from gpuplace.views.tables import html
from gpuplace.why.explanation import Explanation


class RuleExplorer(ipywidgets.VBox):
    """The rules that settle the device of a program's result, with controls for request, dtype and release.

    Args:
        program: function that is called with a dtype, builds a graph, and returns the tensor or operation to explain.
        dtypes: names of the dtypes to choose from.
        machine: the machine; None for the current one.
    """

    request = traitlets.Unicode(
        "", help="Device of the ``tf.device`` block around the program; empty for none."
    )
    dtype = traitlets.Unicode(help="Dtype that the program is called with.")
    release = traitlets.Enum(RELEASES, help="TensorFlow release whose rules apply.")
    soft_placement = traitlets.Bool(False, help="Whether soft placement is on.")

    def __init__(
        self, program: Callable[[DType], OperationLike], dtypes: Sequence[str], machine: MachineLike | None
    ) -> None:
        self._program, self._machine = program, machine
        self.explanation: Explanation | None = None
        """Why the result has its device; None after an error."""
        self.error: Exception | None = None
        """Error of the program, which cannot build its graph with this dtype."""
        labels = place(Graph(), machine).device_labels
        gpus = sum(label.startswith("GPU") for label in labels)
        requests = [f"/{label.lower()}" for label in (*labels, f"GPU:{gpus}")]  # the last GPU does not exist
        options = {
            "request": [("no request", ""), *((name, name) for name in requests)],
            "dtype": [(name, name) for name in dtypes],
            "release": [(name, name) for name in RELEASES],
        }
        titles = {"request": "tf.device", "dtype": "dtype", "release": "TensorFlow"}
        controls = [
            ipywidgets.Dropdown(
                description=title,
                options=options[name],
                value=value,
                layout={"width": "auto"},
                style={"description_width": "initial"},
            )
            for (name, title), value in zip(titles.items(), ("", dtypes[0], get_release()), strict=True)
        ]
        controls.append(ipywidgets.Checkbox(description="soft placement", indent=False))
        self._result = ipywidgets.HTML()
        bar = ipywidgets.HBox(controls, layout={"flex_flow": "row wrap"})
        super().__init__([bar, self._result], dtype=dtypes[0], release=get_release())
        for name, control in zip((*titles, "soft_placement"), controls, strict=True):
            traitlets.link((self, name), (control, "value"))
        self.observe(self._place, [*titles, "soft_placement"])
        self._place()

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
        self._result.value = self._rules()

    def _rules(self) -> str:
        return html.error_html(self.error) if self.error else html.explanation_html(self.explanation)

    @property
    def text(self) -> str:
        """The choice in one line."""
        soft = "with" if self.soft_placement else "without"
        around = f"tf.device({self.request!r})" if self.request else "no request"
        return f"{around}, {self.dtype}, TensorFlow {self.release}, {soft} soft placement"

    def __repr__(self) -> str:
        return f"<RuleExplorer: {self.text}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """Return the widget and, for readers without a kernel, the rules of this choice."""
        plain = f"{self.text}\n{self.error or self.explanation}"
        shown = f"<p>{html.escape(self.text)}</p>{self._rules()}"
        return {**super()._repr_mimebundle_(**kwargs), "text/html": shown, "text/plain": plain}
