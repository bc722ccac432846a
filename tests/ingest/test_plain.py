"""Plain text: what becomes a passage."""

import pytest

from ibidem.ingest.formats import format_of
from ibidem.ingest.split import ITEMS_CHARS_MAX


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_passage_of_subtitles_has_several_whole_cues(end):
    cues = [
        f"{at}{end}00:00:{at:02}.000 --> 00:00:{at:02}.900{end}and so the mill {'x' * (at % 40)}"
        for at in range(60)
    ]
    source = (end * 2).join(["WEBVTT", *cues])
    texts = [source[each.start : each.stop] for each in format_of("a.vtt").read(source, 0)]
    assert [cue for text in texts for cue in text.split(end * 2)] == ["WEBVTT", *cues]
    assert len(texts) < 12
    assert max(map(len, texts)) <= ITEMS_CHARS_MAX


def test_a_rule_is_layout():
    source = "One.\n\n==========\n\nTwo\n----\n\n- - -\n\n...\n"
    texts = [source[each.start : each.stop] for each in format_of("a.txt").read(source, 0)]
    assert texts == ["One.", "Two\n----", "..."]
