"""An agent over documents, facts, a conversation and feedback. Every step is one commit, and the
run is recorded and replayed: `python examples/agent.py FOLDER`."""

import sys

import ibidem

HANDBOOK = "# Retries\n\nA failed request is tried again after one second, then two, then four.\n"
USER, THREAD = "ada", "support"
QUESTIONS = ["How often is a failed request tried again?", "How often did I ask about a request?"]


def model(prompt: str) -> dict:
    """Stands for the call of a model: it answers with the first source, and notes a fact."""
    _, asked, _, first, *_ = prompt.split("\n\n")
    source = first.splitlines()[1]
    return {"answer": f"As noted: {source}", "fact": f"{USER} asked last: {asked}"}


def step(run: ibidem.Run, question: str) -> str:
    """Answers a question; what it reads and what the model says are recorded, and its commit."""
    context = run.context(question, thread=THREAD, user=USER, token_budget=800)
    known = run.records.list(user=USER)
    said = run.event("model", context.text, lambda: model(context.text))
    best = context.packs[0].entry.id
    source = {"kind": "artifact", "ref": str(best)}
    fact = ibidem.Record("Semantic", said["fact"], scope="", user=USER, provenance=[source])
    asked = {"role": "user", "content": question}
    with run.transaction(author="agent", message=f"answered: {question}") as tx:
        answer = {"role": "assistant", "content": said["answer"]}
        tx.conversations.append(THREAD, [asked, answer])
        tx.feedback.vote(context.packs, best, 1)
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
    main(sys.argv[1] if len(sys.argv) > 1 else sys.exit(__doc__))
