"""Pictures have the same bytes for the same values; a person has looked at the files of golden/.

`python tests/pages/test_svg.py` writes them.
"""

from pathlib import Path

import pytest

from ibidem.pages import svg
from ibidem.pages.html import render

GOLDEN = Path(__file__).parent / "golden"
MERGE = [("c", ["b", "x"]), ("x", ["a"]), ("b", ["a"]), ("a", [])]
PICTURES = {
    "bar": svg.score_bar({"lexical": 0.016, "dense": 0.015, "graph": 0.004}, 0.05),
    "bar-of-nothing": svg.score_bar({}, 0.0),
    "meter": svg.meter(120, 2000),
    "meter-without-budget": svg.meter(120, None),
    "ranks": svg.moved_ranks(
        [
            svg.Ranked("Retries back off <b>", 1, 2, "moved"),
            svg.Ranked("Timeouts", None, 1, "entered"),
            svg.Ranked("Old retries", 2, None, "left"),
            svg.Ranked("Queues", 3, 3, "same"),
        ],
        before="main~1",
        after="main",
    ),
    "branches": svg.branch_graph(MERGE),
    "branches-cut": svg.branch_graph(MERGE[:3]),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_has_its_bytes(name: str):
    assert (GOLDEN / f"{name}.svg").read_text("utf-8") == svg.alone(PICTURES[name])


@pytest.mark.parametrize("name", PICTURES)
def test_coordinates_are_integers(name: str):
    assert "." not in "".join(
        part
        for part in render(PICTURES[name]).split('"')[1::2]
        if part[:1].isdigit() or part[:1] == "M"
    )


def test_the_parts_of_a_bar_touch_and_end_where_the_sum_ends():
    bar = render(svg.score_bar({"lexical": 0.1, "dense": 0.2}, 0.3))
    assert '<rect class="lexical" x="0" y="0" width="80"' in bar
    assert '<rect class="dense" x="80" y="0" width="160"' in bar


def test_a_lane_that_takes_away_is_drawn_as_nothing():
    assert 'class="dense" x="120" y="0" width="0"' in render(
        svg.score_bar({"lexical": 1.0, "dense": -3.0}, 2.0)
    )


def test_first_parents_stay_in_their_column():
    drawn = render(svg.branch_graph(MERGE))
    assert [part.split('"')[0] for part in drawn.split('cx="')[1:]] == ["9", "27", "9", "9"]


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name, drawn in PICTURES.items():
        (GOLDEN / f"{name}.svg").write_text(svg.alone(drawn), "utf-8")
