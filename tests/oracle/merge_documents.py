"""Random edits of one document: its paragraphs, sections, leads and tails, with right sizes."""

from __future__ import annotations

import random
from typing import Any

from ibidem.objects.derive import node_id

from .merge_layout import listed_below, resize
from .merge_oracle import State
from .merge_values import Value
from .merge_world import WORDS, copied, empty_state

DOCUMENT = node_id("document", "notes.md").raw
LABELS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("level", (0, 2, 3, 4, None)),
    ("scope", ("east", "west", None)),
)
HOMES = (("analyser", ("german-1", "french-1", None)),)
LEADS = ("", "\n", "\n\n")


def part(ntype: str, key: Any, **fields: Any) -> Value:
    namespace = ntype.lower()
    id_ = node_id(namespace, key).raw
    return {"kind": "node", "v": 1, "id": id_, "ntype": ntype, "key": [namespace, key], **fields}


class DocumentEditor:
    """Makes random edits to the document of one state."""

    def __init__(
        self,
        random_: random.Random,
        state: State | None = None,
        *,
        policy: int | None = None,
        has_labels: bool = True,
    ) -> None:
        self.random = random_
        self.has_labels = has_labels
        self.state = copied(empty_state(policy=policy) if state is None else state)
        if state is None:
            self.state.nodes[DOCUMENT] = part("Document", "notes.md", tail="\n")

    def edited(self, count: int, *, is_first: bool = False) -> State:
        """Returns the state after some edits."""
        added = (self.add,) * 6 + (self.add_section,) * 2
        moves = (
            *(self.change,) * 8,
            *(self.add,) * 3,
            *(self.remove,) * 2,
            self.add_section,
            self.change_lead,
            self.change_tail,
            self.swap,
            self.settle,
        )
        for _ in range(count):
            id_ = self.random.choice(self.containers())
            children = [list(child) for child in self.state.nodes[id_].get("children", ())]
            self.random.choice(added if is_first else moves)(id_, children)
        if self.has_labels:
            self.label(LABELS if "trust" in self.state.config else HOMES)
        self.state.nodes.update(resize(self.state.nodes, DOCUMENT))
        return self.state

    def label(self, labels: tuple[tuple[str, tuple[Any, ...]], ...]) -> None:
        """Gives the document another level or scope, or home, at times, and its parts what it has,
        but a few another one."""
        nodes = self.state.nodes
        before, after = (dict(nodes[DOCUMENT].get("props", {})) for _ in range(2))
        for name, values in labels:
            if self.random.random() < 0.5:
                after[name] = self.random.choice(values)
                if after[name] is None:
                    del after[name]
            for id_ in [DOCUMENT, *listed_below(nodes, DOCUMENT)]:
                props = dict(nodes[id_].get("props", {}))
                is_own = id_ != DOCUMENT and name in props and props[name] != before.get(name)
                if not is_own:
                    props.pop(name, None)
                    props.update({name: after[name]} if name in after else {})
                if id_ != DOCUMENT and self.random.random() < 0.1:
                    props[name] = values[0]
                rest = {field: value for field, value in nodes[id_].items() if field != "props"}
                nodes[id_] = rest | ({"props": props} if props else {})

    def containers(self) -> list[bytes]:
        found = [DOCUMENT]
        for id_ in found:
            listed = [child[0] for child in self.state.nodes[id_].get("children", ())]
            found += [each for each in listed if self.ntype(each) == "Section"]
        return found

    def put(self, id_: bytes, children: list[Any]) -> None:
        node = {name: each for name, each in self.state.nodes[id_].items() if name != "children"}
        self.state.nodes[id_] = node | ({"children": children} if children else {})

    def passage(self) -> list[Any] | None:
        """Returns a new passage as a child; None if it is there already."""
        word = " ".join([self.random.choice(WORDS)] * self.random.randrange(1, 4))
        node = part("Passage", [DOCUMENT, word, self.random.randrange(6)], summary=word)
        if node["id"] in self.state.nodes:
            return None
        self.state.nodes[node["id"]] = node
        return [node["id"], self.random.choice(LEADS), len(word), 0]

    def change(self, id_: bytes, children: list[Any]) -> None:
        indices = [n for n, each in enumerate(children) if self.ntype(each[0]) == "Passage"]
        new = self.passage() if indices else None
        if new is not None:
            index = self.random.choice(indices)
            new[1] = children[index][1]
            self.forget(children[index][0])
            children[index] = new
            self.put(id_, children)

    def add(self, id_: bytes, children: list[Any]) -> None:
        new = self.passage()
        if new is not None:
            children.insert(self.random.randrange(len(children) + 1), new)
            self.put(id_, children)

    def add_section(self, id_: bytes, children: list[Any]) -> None:
        heading = self.random.choice(WORDS)
        node = part("Section", [DOCUMENT, [heading], self.random.randrange(3)], tail="\n")
        if node["id"] not in self.state.nodes:
            self.state.nodes[node["id"]] = node
            lead = f"\n# {heading}\n"
            children.insert(self.random.randrange(len(children) + 1), [node["id"], lead, 1, 1])
            self.put(id_, children)

    def remove(self, id_: bytes, children: list[Any]) -> None:
        if children:
            gone = children.pop(self.random.randrange(len(children)))[0]
            self.forget(gone)
            self.put(id_, children)

    def forget(self, id_: bytes) -> None:
        node = self.state.nodes.pop(id_, {})
        self.state.conflicts.pop(id_, None)
        for child in node.get("children", ()):
            self.forget(child[0])

    def change_lead(self, id_: bytes, children: list[Any]) -> None:
        if children:
            self.random.choice(children)[1] = self.random.choice(LEADS)
            self.put(id_, children)

    def change_tail(self, id_: bytes, _: list[Any]) -> None:
        self.state.nodes[id_] = {**self.state.nodes[id_], "tail": self.random.choice(LEADS[1:])}

    def swap(self, id_: bytes, children: list[Any]) -> None:
        if len(children) > 1:
            index = self.random.randrange(len(children) - 1)
            children[index : index + 2] = children[index + 1], children[index]
            self.put(id_, children)

    def settle(self, *_: Any) -> None:
        there = sorted(self.state.conflicts.keys() & self.state.nodes.keys())
        if there:
            del self.state.conflicts[self.random.choice(there)]

    def ntype(self, id_: bytes) -> Any:
        return self.state.nodes.get(id_, {}).get("ntype")


def merged_layouts(merged: State, base: State, ours: State, theirs: State) -> int:
    """Returns how many layouts both sides changed that are now neither side's, without conflict."""
    count = 0
    for key, node in merged.nodes.items():
        sides = [side.nodes.get(key, {}) for side in (base, ours, theirs)]
        items = [[each[:2] for each in side.get("children", ())] for side in (node, *sides)]
        is_new = all(items[0] != other for other in items[1:])
        count += is_new and key not in merged.conflicts
    return count


def relabelled(merged: State, *sides: State) -> int:
    """Returns how many parts have a level or scope that they have on no side."""
    count = 0
    for key in merged.nodes.keys() - {DOCUMENT}:
        found = [side.nodes[key].get("props") for side in (merged, *sides) if key in side.nodes]
        count += found[0] not in found[1:]
    return count
