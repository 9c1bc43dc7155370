"""``tensorflow.python.summary.plugin_asset``: files of a TensorBoard plugin beside a graph's events.

Source: tensorflow/python/summary/plugin_asset.py, release 1.15 (names, messages).
"""

from __future__ import annotations

import abc
from typing import Any

from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.graph import Graph

_PLUGIN_ASSET_PREFIX = "__tensorboard_plugin_asset__"


class PluginAsset(abc.ABC):
    """The files of a plugin; a subclass names the plugin in ``plugin_name``."""

    plugin_name: str | None = None

    @abc.abstractmethod
    def assets(self) -> dict[str, str | bytes]:
        """File name -> contents."""


def get_plugin_asset(plugin_asset_cls: type[PluginAsset], graph: Graph | None = None) -> Any:
    """Return the files of a plugin for a graph, created if there are none.

    Args:
        plugin_asset_cls: their class.
        graph: the graph; None for the default one.

    Raises:
        ValueError: the class has no ``plugin_name``, or the graph has assets of another class for it.
    """
    graph = graph or get_default_graph()
    name = plugin_asset_cls.plugin_name
    if not name:
        raise ValueError(f"Class {plugin_asset_cls.__name__} has no plugin_name")
    key = _PLUGIN_ASSET_PREFIX + name
    existing = graph.get_collection(key)
    if existing:
        if len(existing) > 1:
            raise ValueError(f"Collection for plugin {name} had {len(existing)} items, expected 1")
        if not isinstance(existing[0], plugin_asset_cls):
            raise ValueError(
                f"Plugin name collision between classes {plugin_asset_cls.__name__} and {type(existing[0]).__name__}"
            )
        return existing[0]
    asset = plugin_asset_cls()
    graph.add_to_collection(key, asset)
    graph.add_to_collection(_PLUGIN_ASSET_PREFIX, name)
    return asset


def get_all_plugin_assets(graph: Graph | None = None) -> list[Any]:
    """Return the files of all plugins for a graph.

    Args:
        graph: the graph; None for the default one.

    Raises:
        ValueError: a plugin does not have exactly one such object.
    """
    graph = graph or get_default_graph()
    assets = []
    for name in graph.get_collection(_PLUGIN_ASSET_PREFIX):
        items = graph.get_collection(_PLUGIN_ASSET_PREFIX + name)
        if len(items) != 1:
            raise ValueError(f"Collection for plugin {name} had {len(items)} items, expected 1")
        assets += items
    return assets
