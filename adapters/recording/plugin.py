"""The pytest plugin for runs of agents: the fixture `replay_run`.

pytest imports this module at every start in every project that has Ibidem installed, so it imports
only pytest and the standard library; the rest is imported when a test uses the fixture.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import ibidem

ReplayRun = Callable[..., Any]


@pytest.fixture
def replay_run(request: pytest.FixtureRequest) -> ReplayRun:
    """Replays a recorded run, and fails at the first step that differs: `replay_run("nightly.car",
    main)`.

    The first argument is a file that `repo run export` wrote, in the folder of the test, or with
    `repository` the name of a run in it. The second is called with the replay. What it returns is
    returned.
    """

    def replayed(
        run: str, agent: Callable[[Any], Any], *, repository: ibidem.Repository | None = None
    ) -> Any:
        import ibidem
        from ibidem.adapters.recording import model_calls

        try:
            if repository is not None:
                with repository.runs.open(run).replay() as session, model_calls(session):
                    return agent(session)
            with ibidem.init("memory:") as copy:
                found = copy.runs.load(Path(request.path).parent / run)
                with found.replay() as session, model_calls(session):
                    return agent(session)
        except ibidem.RunMismatchError as error:
            message = str(error)
        # Outside the handler: where the library noticed it would not help the reader of the report.
        pytest.fail(message, pytrace=False)

    return replayed
