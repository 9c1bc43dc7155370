"""``tf.contrib.training.HParams``: named hyperparameters of a model, which a string can set.

>>> params = HParams(rate=0.1, layers=[8, 8], bias=True)
>>> params.parse("rate=0.5,layers=[4,2],bias=false").values()
{'rate': 0.5, 'layers': [4, 2], 'bias': False}

Source: tensorflow/contrib/training/python/training/hparam.py, release 1.15 (names, grammar, messages).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["HParams", "parse_values"]

_ASSIGNMENT = re.compile(
    r"\s*(?P<name>[a-zA-Z][\w.]*)\s*(?:\[\s*(?P<index>\d+)\s*\])?\s*=\s*"
    r"(?:\[(?P<list>[^\]]*)\]|(?P<value>[^,\[]*))\s*(?:,|$)"
)
"""One assignment of a string: ``name=value``, ``name[2]=value`` or ``name=[value, value]``."""


def _parsed_bool(text: str) -> bool:
    words = {"true": True, "True": True, "1": True, "false": False, "False": False, "0": False}
    if text in words:
        return words[text]
    raise ValueError(text)


def _parser(value_type: type) -> Callable[[str], Any]:
    return _parsed_bool if value_type is bool else value_type


def parse_values(values: str, type_map: Mapping[str, type], ignore_unknown: bool = False) -> dict[str, Any]:
    """Parse assignments, ``"rate=0.5,layers=[4,2],names[1]=b"``.

    Args:
        values: the assignments, separated by commas.
        type_map: dict from name to the type of its values.
        ignore_unknown: whether to ignore names without a type.

    Returns:
        Dict from name to a value, a list, or, for ``name[2]=value``, a dict from index to value.

    Raises:
        ValueError: the string cannot be parsed, a name has no type, a value has another type, or a name is
            set twice.
    """
    parsed: dict[str, Any] = {}
    at = 0
    while at < len(values):
        match = _ASSIGNMENT.match(values, at)
        if match is None:
            raise ValueError(f"Malformed hyperparameter value: {values[at:]}")
        at = match.end()
        name = match["name"]
        if name not in type_map:
            if ignore_unknown:
                continue
            raise ValueError(f"Unknown hyperparameter type for {name}")
        parse = _parser(type_map[name])

        def read(text: str, name: str = name, parse: Callable[[str], Any] = parse) -> Any:
            try:
                return parse(text.strip())
            except ValueError:
                raise ValueError(
                    f"Could not parse hparam '{name}' of type '{type_map[name].__name__}' with value '{text}' in "
                    f"{values}"
                ) from None

        index = match["index"]
        kept = parsed.get(name)
        if name in parsed and (index is None or not isinstance(kept, dict) or int(index) in kept):
            raise ValueError(f"Multiple assignments to variable '{name}' in {values}")
        if index is not None:
            if match["list"] is not None:
                raise ValueError("Assignment of a list to a list index.")
            parsed.setdefault(name, {})[int(index)] = read(match["value"])
        elif match["list"] is not None:
            texts = match["list"].split(",") if match["list"].strip() else []
            parsed[name] = [read(text) for text in texts]
        else:
            parsed[name] = read(match["value"])
    return parsed


def _cast(name: str, value_type: type, value: Any) -> Any:
    """Return a value as the type of a hyperparameter."""
    if isinstance(value, value_type) and (value_type is bool) == isinstance(value, bool):
        return value
    refused = (
        issubclass(value_type, str) != isinstance(value, str)
        or (value_type is bool) != isinstance(value, bool)
        or (issubclass(value_type, int) and not isinstance(value, int))
    )
    if value is None or (refused and value_type is not type(None)):
        raise ValueError(f"Could not cast hparam '{name}' of type '{value_type}' from value {value!r}")
    return value if value_type is type(None) else value_type(value)


class HParams:
    """Hyperparameters: attributes with types, which ``parse`` sets from a string.

    Args:
        hparam_def: not supported; must be None.
        model_structure: any object, for ``get_model_structure``.
        kwargs: the hyperparameters by name. Values are numbers, strings, booleans or lists of one type; a
            value determines the type.

    Raises:
        ValueError: the class has an attribute of that name, or a list is empty.
    """

    def __init__(self, hparam_def: Any = None, model_structure: Any = None, **kwargs: Any) -> None:
        if hparam_def is not None:
            raise ValueError("hparam_def is not supported: give the values by name, HParams(rate=0.1)")
        self._hparam_types: dict[str, tuple[type, bool]] = {}
        self._model_structure = model_structure
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: Any) -> None:
        """Add a hyperparameter.

        Args:
            name: name of the variable.
            value: its value, or a list.

        Raises:
            ValueError: the name exists already, or the list is empty.
        """
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        if isinstance(value, list | tuple):
            if not value:
                raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
            self._hparam_types[name] = (type(value[0]), True)
        else:
            self._hparam_types[name] = (type(value), False)
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Set the value of a hyperparameter, which keeps its type.

        Args:
            name: name of the variable.
            value: its value, or a list.

        Raises:
            KeyError: there is no hyperparameter of that name.
            ValueError: the value has another type, or only one of the old and new values is a list.
        """
        value_type, is_list = self._hparam_types[name]
        if isinstance(value, list):
            if not is_list:
                raise ValueError(f"Must not pass a list for single-valued parameter: {name}")
            setattr(self, name, [_cast(name, value_type, one) for one in value])
        elif is_list:
            raise ValueError(f"Must pass a list for multi-valued parameter: {name}.")
        else:
            setattr(self, name, _cast(name, value_type, value))

    def del_hparam(self, name: str) -> None:
        """Remove a hyperparameter.

        Args:
            name: its name; an unknown name is ignored.
        """
        if hasattr(self, name):
            delattr(self, name)
            del self._hparam_types[name]

    def parse(self, values: str) -> HParams:
        """Set hyperparameters from a string.

        Args:
            values: the assignments, such as ``"rate=0.5,layers=[4,2],names[1]=b"``.

        Returns:
            The estimator.

        Raises:
            ValueError: as ``parse_values``.
        """
        types = {name: kind for name, (kind, _) in self._hparam_types.items()}
        parsed = parse_values(values, types)
        for name, value in parsed.items():
            if isinstance(value, dict):
                items = list(getattr(self, name))
                for index, item in value.items():
                    items[index] = item
                parsed[name] = items
        return self.override_from_dict(parsed)

    def override_from_dict(self, values_dict: Mapping[str, Any]) -> HParams:
        """Set hyperparameters.

        Args:
            values_dict: the values by name.

        Returns:
            The estimator.

        Raises:
            KeyError: a name is unknown.
            ValueError: as ``set_hparam``.
        """
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def set_model_structure(self, model_structure: Any) -> None:
        """Store a structure, which the class does not interpret."""
        self._model_structure = model_structure

    def get_model_structure(self) -> Any:
        """Return the stored structure."""
        return self._model_structure

    def to_json(self, indent: int | None = None, separators: Any = None, sort_keys: bool = False) -> str:
        """Return the hyperparameters as JSON.

        Args:
            indent: as for ``json.dumps``.
            separators: as for ``json.dumps``.
            sort_keys: as for ``json.dumps``.
        """
        values = {name: value for name, value in self.values().items() if not callable(value)}
        return json.dumps(values, indent=indent, separators=separators, sort_keys=sort_keys)

    def parse_json(self, values_json: str) -> HParams:
        """Set hyperparameters from a JSON object.

        Args:
            values_json: the JSON.

        Returns:
            The estimator.
        """
        return self.override_from_dict(json.loads(values_json))

    def values(self) -> dict[str, Any]:
        """Return the values by name."""
        return {name: getattr(self, name) for name in self._hparam_types}

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a hyperparameter.

        Args:
            key: its name.
            default: the value if there is no such hyperparameter; it must have the type of an existing one.

        Raises:
            ValueError: the default has another type.
        """
        if key not in self._hparam_types:
            return default
        if default is not None:
            kind, is_list = self._hparam_types[key]
            if is_list != isinstance(default, list):
                raise ValueError(f"Hparam '{key}' of type '{kind}' is incompatible with default={default}")
            for one in default if is_list else [default]:
                _cast(key, kind, one)
        return getattr(self, key)

    def __contains__(self, key: str) -> bool:
        return key in self._hparam_types

    def __str__(self) -> str:
        return str(sorted(self.values().items()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"
