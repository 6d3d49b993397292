# SPDX-License-Identifier: MIT
"""The public interface, read from its description, and replies held against it."""

import re
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).resolve().parents[2] / "include" / "org.dotnetdiscovery.Manager.varlink"

PRIMITIVES: dict[str, type] = {"string": str, "int": int, "bool": bool, "float": float,
                               "object": dict}

Fields = dict[str, str]  # name -> type, as the description writes it


class Interface(NamedTuple):
    """What one description says; comments are left out."""

    name: str
    text: str
    types: dict[str, Fields | list[str]]  # structs and enums
    methods: dict[str, tuple[Fields, Fields]]
    errors: dict[str, Fields]

    def problems(self, value: Any, type_name: str) -> list[str]:
        """Where the value is not of the type; a field that is null must have been left out."""
        if type_name.startswith("?"):
            return self.problems(value, type_name[1:])
        if type_name.startswith("[]"):
            if not isinstance(value, list):
                return [f"{value!r} is no array"]
            return [problem for item in value for problem in self.problems(item, type_name[2:])]
        if type_name in PRIMITIVES:
            right = type(value) is PRIMITIVES[type_name]  # a bool is an int to isinstance()
            return [] if right else [f"{value!r} is no {type_name}"]
        known = self.types[type_name]
        if isinstance(known, list):
            return [] if value in known else [f"{value!r} is no {type_name}"]
        return self.field_problems(value, known, type_name)

    def field_problems(self, value: Any, fields: Fields, what: str) -> list[str]:
        """The same for an object of these fields."""
        if not isinstance(value, dict):
            return [f"{what}: {value!r} is no object"]
        problems = [f"{what} has no field {name}" for name in value.keys() - fields.keys()]
        for name, type_name in fields.items():
            if name in value:
                problems += [f"{what}.{name}: {problem}"
                             for problem in self.problems(value[name], type_name)]
            elif not type_name.startswith("?"):
                problems.append(f"{what} lacks {name}")
        return problems

    def reply_problems(self, message: dict[str, Any]) -> list[str]:
        """Where a message is a reply that this interface does not have.

        A reply does not say of which method it is, so it must be one of any. Errors and replies of
        org.varlink.service are not described here.
        """
        parameters = message.get("parameters", {})
        if "error" in message:
            interface, _, name = message["error"].rpartition(".")
            if interface != self.name:
                return []
            return self.field_problems(parameters, self.errors.get(name, {}), name)
        if parameters.keys() & {"description", "interfaces"}:
            return []
        found = [self.field_problems(parameters, output, name)
                 for name, (_, output) in self.methods.items()]
        return min(found, key=len)


def parse(text: str) -> Interface:
    """Reads a description."""
    words = re.findall(r"\[\]|->|[\w.]+|[():,?]", re.sub(r"#.*", "", text))
    position = 0

    def take() -> str:
        nonlocal position
        position += 1
        return words[position - 1]

    def take_list() -> Fields | list[str]:
        fields: Fields = {}
        plain: list[str] = []
        assert take() == "("
        while (name := take()) != ")":
            if name == ",":
                continue
            if words[position] != ":":
                plain.append(name)
                continue
            take()
            type_name = ""
            while words[position] in ("?", "[]"):
                type_name += take()
            fields[name] = type_name + take()
        return plain or fields

    assert take() == "interface"
    interface = Interface(take(), text, {}, {}, {})
    while position < len(words):
        kind, name = take(), take()
        fields = take_list()
        match kind:
            case "type":
                interface.types[name] = fields
            case "error":
                interface.errors[name] = fields
            case "method":
                assert take() == "->"
                interface.methods[name] = (fields, take_list())
            case _:
                raise ValueError(f"{kind} in a description")
    return interface


INTERFACE = parse(FILE.read_text())
