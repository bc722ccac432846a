"""LangGraph: threads as branches, commits as steps, an agent beside another writer, its replay."""

import asyncio
import operator
import subprocess
import sys
import time
import warnings
from typing import Annotated, TypedDict

import pytest

pytest.importorskip("langgraph")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import ormsgpack
    from langgraph.checkpoint.base import empty_checkpoint
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
    from langgraph.graph import END, START, StateGraph
    from langgraph.types import Command, Send, interrupt

import ibidem
from ibidem.adapters.langgraph import IbidemSaver
from ibidem.adapters.langgraph.saver import CHECKPOINT, VALUE, WRITES


class State(TypedDict):
    question: str
    said: Annotated[list[str], operator.add]


@pytest.fixture
def repo():
    with ibidem.init("memory:") as repo:
        repo.add("the gate is green")
        yield repo


def config(thread="t", **more):
    return {"configurable": {"thread_id": thread, **more}}


def two_steps(saver):
    graph = StateGraph(State)
    graph.add_node("one", lambda state: {"said": ["one"]})
    graph.add_node("two", lambda state: {"said": [f"two of {state['question']}"]})
    graph.add_edge(START, "one")
    graph.add_edge("one", "two")
    graph.add_edge("two", END)
    return graph.compile(checkpointer=saver)


def checkpoint_commits(repo, branch):
    return [one for one in repo.history.log(branch) if ": step" in one.message]


def test_a_step_is_a_commit_on_the_branch_of_the_thread(repo):
    head = repo.head
    graph = two_steps(IbidemSaver(repo, author="agent"))
    assert graph.invoke({"question": "q", "said": []}, config())["said"] == ["one", "two of q"]
    assert repo.head == head
    commits = checkpoint_commits(repo, "langgraph/t")
    assert [one.message for one in commits] == [
        "t: step 2, loop",
        "t: step 1, loop",
        "t: step 0, loop",
        "t: step -1, input",
    ]
    assert {one.author for one in commits} == {"agent"}
    assert repo.at("langgraph/t").retrieve("gate").items


def test_a_thread_at_an_older_commit_is_the_thread_of_then(repo):
    saver = IbidemSaver(repo)
    two_steps(saver).invoke({"question": "q", "said": []}, config())
    stored = list(saver.list(config()))
    assert len(stored) == 4
    for commit, one in zip(checkpoint_commits(repo, "langgraph/t"), stored, strict=True):
        # What the tasks of a step wrote may be stored before its checkpoint, or after it.
        repo.branch("langgraph/then", at=commit.cid)
        then = saver.get_tuple(config("then"))
        assert (then.checkpoint, then.metadata) == (one.checkpoint, one.metadata)
        repo.delete_branch("langgraph/then")
    repo.branch("langgraph/then", at=checkpoint_commits(repo, "langgraph/t")[1].cid)
    assert two_steps(saver).invoke(None, config("then"))["said"] == ["one", "two of q"]


def test_a_fork_leaves_the_first_path_alone(repo):
    graph = two_steps(IbidemSaver(repo))
    graph.invoke({"question": "q", "said": []}, config())
    before = [state.values for state in graph.get_state_history(config())]
    middle = next(
        state for state in graph.get_state_history(config()) if state.values["said"] == ["one"]
    )
    fork = graph.update_state(middle.config, {"question": "another"})
    assert graph.invoke(None, fork)["said"] == ["one", "two of another"]
    after = [state.values for state in graph.get_state_history(config())]
    assert after[-len(before) :] == before
    assert graph.invoke(None, middle.config)["said"] == ["one", "two of q"]


def test_tasks_of_a_step_that_ran_are_not_run_again(repo):
    ran = []

    def work(state):
        ran.append(state["n"])
        if state["n"] == 3 and ran.count(3) == 1:
            time.sleep(0.5)  # the others end first, and what they wrote is stored
            raise RuntimeError("the third breaks")
        return {"said": [str(state["n"])]}

    graph = StateGraph(State)
    graph.add_node("work", work)
    graph.add_conditional_edges(START, lambda state: [Send("work", {"n": n}) for n in range(8)])
    graph.add_edge("work", END)
    app = graph.compile(checkpointer=IbidemSaver(repo))
    with pytest.raises(RuntimeError, match="third"):
        app.invoke({"question": "q", "said": []}, config())
    finished = set(ran) - {3}
    assert finished
    again = graph.compile(checkpointer=IbidemSaver(repo)).invoke(None, config())
    assert again["said"] == [str(n) for n in range(8)]
    assert ran.count(3) == 2
    stored = {n for n in finished if ran.count(n) == 1}
    assert stored  # what had been stored when the third broke
    assert repo.conflicts("langgraph/t") == []


def test_an_interrupt_is_resumed_by_another_process(tmp_path):
    def build(repo):
        graph = StateGraph(State)
        graph.add_node("ask", lambda state: {"said": [interrupt("may I?")]})
        graph.add_edge(START, "ask")
        graph.add_edge("ask", END)
        return graph.compile(checkpointer=IbidemSaver(repo))

    with ibidem.init(tmp_path) as repo:
        build(repo).invoke({"question": "q", "said": []}, config())
    with ibidem.open(tmp_path) as repo:
        assert build(repo).invoke(Command(resume="yes"), config())["said"] == ["yes"]


def test_asynchronous_threads_beside_each_other(repo):
    graph = two_steps(IbidemSaver(repo))

    async def main():
        states = await asyncio.gather(
            *(graph.ainvoke({"question": str(n), "said": []}, config(f"t{n}")) for n in range(6))
        )
        return states, [one async for one in graph.aget_state_history(config("t3"))]

    states, history = asyncio.run(main())
    assert [one["said"][1] for one in states] == [f"two of {n}" for n in range(6)]
    assert len(history) == 4
    saver = IbidemSaver(repo)
    assert {one.config["configurable"]["thread_id"] for one in saver.list(None)} == {
        f"t{n}" for n in range(6)
    }


@pytest.mark.parametrize("thread", ["Ada", "a/b", "ä ö", "..", "-", "x" * 90, "hex", 7])
def test_any_id_of_a_thread_is_one(repo, thread):
    saver = IbidemSaver(repo)
    saver.put(config(thread, checkpoint_ns=""), empty_checkpoint(), {"step": 0}, {})
    (found,) = saver.list(None)
    assert found.config["configurable"]["thread_id"] == str(thread)
    saver.delete_thread(str(thread))
    assert list(saver.list(None)) == []
    repo.history.undo()
    assert len(list(saver.list(None))) == 1


def test_what_is_pruned_leaves_no_values(repo):
    saver = IbidemSaver(repo)
    graph = two_steps(saver)
    graph.invoke({"question": "q", "said": []}, config())
    graph.invoke({"question": "r", "said": []}, config())
    values = graph.get_state(config()).values
    saver.prune(["t"])
    assert graph.get_state(config()).values == values
    at = repo.at("langgraph/t")
    (left,) = at.query(label=CHECKPOINT)
    assert {str(one.id) for one in at.query(label=VALUE)} == set(left.props["values"].values())
    assert at.query(label=WRITES) == []
    saver.prune(["t"], strategy="delete")
    assert saver.get_tuple(config()) is None


def test_pruning_leaves_what_a_channel_of_differences_is_rebuilt_from(repo):
    saver = IbidemSaver(repo)
    at = config(checkpoint_ns="")
    for number in range(4):
        checkpoint = empty_checkpoint() | {
            "id": f"{number}",
            "channel_values": {"log": ["whole"]} if number == 1 else {},
            "channel_versions": {"log": number},
        }
        counters = {} if number == 1 else {"counters_since_delta_snapshot": {"log": [1, 1]}}
        at = saver.put(at, checkpoint, {"step": number, **counters}, {"log": number})
        saver.put_writes(at, [("log", number)], "task")
    history = saver.get_delta_channel_history(config=at, channels=["log"])
    assert history["log"]["seed"] == ["whole"]
    saver.prune(["t"])
    assert saver.get_delta_channel_history(config=at, channels=["log"]) == history
    assert [one.checkpoint["id"] for one in saver.list(config())] == ["3", "2", "1"]


@pytest.mark.parametrize(
    "call",
    [
        lambda saver: saver.get_tuple({"configurable": {}}),
        lambda saver: saver.put(config(checkpoint_ns=3), empty_checkpoint(), {}, {}),
        lambda saver: saver.put(config(checkpoint_ns="\ud800"), empty_checkpoint(), {}, {}),
        lambda saver: saver.put(
            config("x" * 300, checkpoint_ns=""), empty_checkpoint(), {"step": 1}, {}
        ),
        lambda saver: saver.put_writes(config(checkpoint_ns=""), [("a", 1)], "task"),
        lambda saver: saver.put_writes(config(checkpoint_id="1"), [("a", 1)], 7),
        lambda saver: saver.prune(["t"], strategy="some"),
        lambda saver: saver.delete_thread(None),
        lambda saver: saver.put(
            config(checkpoint_ns=""),
            empty_checkpoint() | {"channel_values": {"big": b"x" * (17 << 20)}},
            {"step": 1},
            {},
        ),
    ],
)
def test_wrong_input_is_an_error_that_changes_nothing(repo, call):
    saver = IbidemSaver(repo)
    two_steps(saver).invoke({"question": "q", "said": []}, config())
    before = repo.branches()["langgraph/t"]
    with pytest.raises(ibidem.InvalidInputError) as caught:
        call(saver)
    assert caught.value.kind
    assert repo.branches()["langgraph/t"] == before


WRITER = """
import sys
import ibidem
with ibidem.open(sys.argv[1]) as repo:
    print("ready", flush=True)
    for number in range(40):
        repo.add(f"the gate {number} of {sys.argv[2]} is blue", author=sys.argv[2])
"""


def agent(run, saver):
    """An agent that asks the repository, then a model, and notes what it was told."""

    def look(state):
        answer = run.retrieve(state["question"], limit=2)
        return {"said": [answer.text]}

    def think(state):
        text = run.event("model", state["said"][-1], lambda: f"told: {len(state['said'])}")
        run.add(f"{text} by {state['question']}", author="agent")
        return {"said": [text]}

    graph = StateGraph(State)
    graph.add_node("look", look)
    graph.add_node("think", think)
    graph.add_edge(START, "look")
    graph.add_edge("look", "think")
    graph.add_conditional_edges("think", lambda state: "look" if len(state["said"]) < 12 else END)
    return graph.compile(checkpointer=saver)


def test_an_agent_beside_two_processes_replays_to_the_same_bytes(tmp_path):
    given = {"question": "what colour is the gate", "said": []}
    with ibidem.init(tmp_path) as repo:
        repo.add("the gate is green")
        others = [
            subprocess.Popen(
                [sys.executable, "-c", WRITER, str(tmp_path), name],
                stdout=subprocess.PIPE,
                text=True,
            )
            for name in ("ada", "bob")
        ]
        try:
            for other in others:
                assert other.stdout.readline() == "ready\n"
            with repo.runs.start("agent") as run:
                said = agent(run, IbidemSaver(repo)).invoke(given, config("live"))["said"]
            assert [other.wait(60) for other in others] == [0, 0]
        finally:
            for other in others:
                other.kill()
                other.stdout.close()
                other.wait()
        assert repo.at().count() == 1 + 2 * 40 + 6
        assert repo.conflicts() == []
        for name in ("first", "second"):
            with repo.runs.open("agent").replay() as replay:
                again = agent(replay, IbidemSaver(repo)).invoke(given, config(name))["said"]
            assert [one.encode() for one in again] == [one.encode() for one in said]
        saver = IbidemSaver(repo)
        values = [
            [one.checkpoint["channel_values"] for one in saver.list(config(name))]
            for name in ("live", "first", "second")
        ]
        assert values[0] == values[1] == values[2]


class Place:
    """A class that LangGraph does not list as safe."""

    def __init__(self, name):
        self.name = name
        MADE.append(name)


MADE = []


def test_a_checkpoint_makes_no_object_of_a_class_that_was_not_named(repo, caplog):
    class Serializer(JsonPlusSerializer):
        """Writes what somebody else may have put into a repository."""

        def dumps_typed(self, obj):
            if obj == "a place":
                call = ormsgpack.packb((Place.__module__, Place.__name__, ("kiosk",)))
                return "msgpack", ormsgpack.packb(ormsgpack.Ext(1, call))
            return super().dumps_typed(obj)

    checkpoint = {**empty_checkpoint(), "channel_versions": {"x": 1}}
    checkpoint["channel_values"] = {"x": "a place"}
    written = IbidemSaver(repo, serde=Serializer()).put(
        {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, checkpoint, {}, {"x": 1}
    )
    found = IbidemSaver(repo).get_tuple(written).checkpoint["channel_values"]["x"]
    assert not isinstance(found, Place)
    assert MADE == []
    named = JsonPlusSerializer(allowed_msgpack_modules=[Place])
    found = IbidemSaver(repo, serde=named).get_tuple(written).checkpoint["channel_values"]["x"]
    assert (found.name, MADE) == ("kiosk", ["kiosk"])
