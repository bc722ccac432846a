"""An agent over documents, facts, a conversation and feedback. Every step is one commit, and the
run is recorded and replayed: `python examples/agent.py FOLDER`."""

import sys

import ibidem

HANDBOOK = "# Retries\n\nA failed request is tried again after one second, then two, then four.\n"
USER, THREAD = "ada", "support"
QUESTIONS = ["How often is a failed request tried again?", "How often did I ask about a request?"]


def model(request: dict) -> dict:
    """Stands for the call of a model: it answers with what was found, and notes a fact."""
    asked = request["messages"][-1]["content"]
    return {
        "answer": f"As noted: {request['sources'][0].strip()}",
        "fact": f"{USER} asked last: {asked}",
    }


def step(run: ibidem.Run, question: str) -> str:
    """Answers a question; what it reads and what the model says are recorded, and its commit."""
    found = run.recall(question, session=THREAD, limit=3, label="Passage", disclosure="section")
    known = run.records.list(user=USER)
    before = run.conversations.select(question, thread=THREAD, limit=4).to_messages()
    asked = {"role": "user", "content": question}
    request = {
        "sources": list(found.texts),
        "facts": [one.text for one in known],
        "messages": [*before, asked],
    }
    said = run.event("model", request, lambda: model(request))
    source = {"kind": "artifact", "ref": str(found.result.items[0].id)}
    fact = ibidem.Record("Semantic", said["fact"], scope="", user=USER, provenance=[source])
    with run.transaction(author="agent", message=f"answered: {question}") as tx:
        answer = {"role": "assistant", "content": said["answer"]}
        tx.conversations.append(THREAD, [asked, answer])
        tx.feedback.vote(found.result, found.result.items[0].id, 1)
        if known:
            tx.records.supersede(known[0].id, fact)
        else:
            tx.records.add(fact)
    return said["answer"]


def main(folder: str) -> None:
    """Runs the agent, replays it, and shows what it has done."""
    with ibidem.open(folder, create=True) as repo:
        repo.ingest(text=HANDBOOK, path="handbook.md", message="the handbook")
        with repo.runs.start("agent") as run:
            answers = [step(run, question) for question in QUESTIONS]
        with repo.runs.open("agent").replay() as replay:
            assert [step(replay, question) for question in QUESTIONS] == answers
        print("\n".join([*answers, *(f"commit: {one.message}" for one in repo.history.log())]))


if __name__ == "__main__":
    main(sys.argv[1])
