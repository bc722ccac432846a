"""The pruned lexical lane gives the numbers of the plain formula, over any index and universe."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from tests.cases import by_suite

from ibidem.index.analysis import analyse
from ibidem.index.index import Index
from ibidem.index.segments import impacts as index_impacts
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import NodeCid, RootCid, TombstoneCid
from ibidem.objects.config import Config
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.root import Root
from ibidem.objects.tombstone import Tombstone
from ibidem.objects.tree import EMPTY_TREE, build
from ibidem.retrieve.filter import universe
from ibidem.retrieve.lexical import bm25, exhaustive, lane
from ibidem.retrieve.lexical import view as lexical_view
from ibidem.retrieve.lexical import words as query_words
from ibidem.retrieve.lexical.statistics import statistics_of
from ibidem.retrieve.lexical.tuning import TUNING, Tuning
from ibidem.retrieve.query.query import Query, resolve
from ibidem.store.memory import MemoryStore

CONFIG = Config(analyser="unicode-1", fields=("summary",))


class Collection:
    """Texts as nodes, over as many segments as there are batches."""

    def __init__(self, batches, hidden=(), tuning=TUNING, config=CONFIG):
        self.tuning, self.config = tuning, config
        self.store, self.texts, self.hidden = MemoryStore(), {}, set(hidden)
        self.roots = []
        index = Index(None, self.store)
        for number, batch in enumerate(batches):
            for place, text in enumerate(batch):
                self.texts[NodeId(number.to_bytes(8, "big") + place.to_bytes(8, "big"))] = text
            self.roots.append(self._write())
            self.snapshot = index.snapshot(self.roots[-1])

    def top(self, **options):
        return self.top_by(resolve(self.config, **options))

    def top_by(self, query):
        found = lane.rank_lexical(universe(self.snapshot, query), self.tuning)
        ids = self.snapshot.node_ids(found.ordinals)
        return [
            (row.tobytes(), score) for row, score in zip(ids, found.scores.tolist(), strict=True)
        ]

    def found(self, text, **options):
        """Returns the texts that a question finds."""
        return {self.texts[NodeId(key)] for key, _ in self.top(text=text, **options)}

    def plain(self, **options):
        """Returns what scoring every row gives."""
        query = resolve(self.config, **options)
        everything = universe(self.snapshot, query)
        statistics = statistics_of(everything.view, include_tombstoned=False)
        rows = lexical_view.lexical_view_of(everything.view, statistics, include_tombstoned=False)
        factors = {(word,): float(count) for word, count in Counter(query.text.split()).items()}
        frequencies = rows.frequencies((word for (word,) in factors), statistics, query)
        weights = bm25.weights(statistics.documents, frequencies, factors)
        scorer = lane.scorer_of(everything, statistics, weights)
        every = np.concatenate(
            [
                start + np.arange(len(segment.ordinals), dtype=np.uint32)
                for segment, start in zip(rows.segments, rows.starts, strict=True)
            ]
        )
        every = rows.visible(every)
        every = every[everything.nodes.flags()[rows.ordinals[every]]]
        scores, has = scorer.scores(every)
        ids = self.snapshot.node_ids(rows.ordinals[every])
        pairs = [(ids[i].tobytes(), float(scores[i])) for i in np.flatnonzero(has)]
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[: query.depth]

    def _write(self):
        buffer = WriteBatch()
        entries, gone = [], []
        block = Tombstone(reason="x").encode()
        buffer.put(TombstoneCid.of(block), block)
        for place, (key, text) in enumerate(self.texts.items()):
            node = Node(key, "Even" if place % 2 else "Odd", text, props={"place": place})
            buffer.put(NodeCid.of(node.encode()), node.encode())
            entries.append((key.raw, NodeCid.of(node.encode())))
            if place in self.hidden:
                gone.append((key.raw, TombstoneCid.of(block)))
        nodes, tombstones = build(entries, buffer), build(gone, buffer)
        root = Root(nodes, EMPTY_TREE, tombstones, EMPTY_TREE, config=self.config.to_map()).encode()
        buffer.put(RootCid.of(root), root)
        self.store.put(buffer.new)
        return RootCid.of(root)


def words(rng, count, *, skew=1.0):
    ranks = range(1, 61)
    return [f"w{n}" for n in rng.choices(ranks, [1 / n**skew for n in ranks], k=count)]


def random_batches(rng):
    sizes = rng.choice(([600], [300, 300], [520, 30, 1, 200], [40] * 6))
    longest = rng.choice((3, 30, 200))
    return [[" ".join(words(rng, rng.randint(0, longest))) for _ in range(size)] for size in sizes]


TUNED = {
    "as it is": TUNING,
    "always looking": Tuning(
        exhaustive_postings_max=-1,
        check_postings_min=0,
        refine_rows=0,
        lookup_cost=0,
        column_share=1,
    ),
    "dense columns": Tuning(
        exhaustive_postings_max=-1, check_postings_min=0, refine_rows=0, column_share=10_000
    ),
    "many exceptions": Tuning(exception_postings_min=2, exception_share=2),
    "a bound from one value": Tuning(exception_postings_min=2, exception_sample=1),
    "all postings": Tuning(exhaustive_postings_max=-1, many_terms_min=1),
}
"""Thresholds such that small collections take every path."""


@pytest.fixture(params=list(TUNED))
def tuned(request, monkeypatch):
    """One of them; for columns, segments of few rows have them too."""
    if request.param == "dense columns":
        monkeypatch.setattr(index_impacts, "DENSE_ROWS_MIN", 1)
    return TUNED[request.param]


def agree(collection, **options):
    """Asks three times: what is kept with terms differs."""
    found = collection.plain(**options)
    for _ in range(3):
        assert collection.top(**options) == found
    return found


@pytest.mark.parametrize("seed", by_suite(range(8), fast=3, slow=8))
def test_pruning_changes_no_number(seed, tuned):
    """[4.1-b]"""
    rng = random.Random(seed)
    batches = random_batches(rng)
    total = sum(map(len, batches))
    collection = Collection(
        batches, rng.sample(range(total), total // rng.choice((2, 10, 40))), tuning=tuned
    )
    for _ in range(15):
        options = {"text": " ".join(words(rng, rng.randint(1, 7), skew=rng.choice((0, 1))))}
        options["depth"] = rng.choice((1, 3, 10, 100))
        if rng.random() < 0.3:
            options |= {"k1": rng.choice((0.0, 0.3, 1.2, 50.0)), "b": rng.choice((0.0, 0.5, 1.0))}
        if rng.random() < 0.4:
            low = rng.choice((0, total // 2, total - 20))
            options["where"] = {"place": {"gte": low}}
        agree(collection, **options)


def test_equal_scores_are_cut_by_id(tuned):
    collection = Collection([["one two"] * 300, ["one two"] * 30], tuning=tuned)
    found = agree(collection, text="one two", depth=7)
    assert [key for key, _ in found] == sorted(key.raw for key in collection.texts)[:7]


def test_a_mean_far_from_the_segments_own_changes_nothing(tuned):
    """Impacts are made for the mean of their segment; these are a thousand times apart."""
    rng = random.Random(4)
    long = [" ".join(words(rng, 2000)) for _ in range(40)]
    short = [" ".join(words(rng, 2)) for _ in range(600)]
    collection = Collection([long, short], tuning=tuned)
    for text in ("w1 w2", "w7", "w3 w50 w51", "w1 " * 20 + "w9"):
        for depth in (1, 10, 100):
            agree(collection, text=text, depth=depth)


@pytest.mark.parametrize("huge", [8, pytest.param(80, marks=pytest.mark.slow)])
def test_huge_frequencies_change_nothing(tuned, huge):
    counts = [1, 2, 300] * 80 + [70_000] * huge
    collection = Collection([["spam " * n + "egg" for n in counts]], tuning=tuned)
    agree(collection, text="spam egg", depth=10)
    agree(collection, text="egg egg egg spam", depth=200)


def test_accumulators_come_back_clean():
    rng = random.Random(9)
    collection = Collection([[" ".join(words(rng, 20)) for _ in range(300)]], range(0, 300, 7))
    for text in ("w1 w2 w3", "w50 w1", "w1"):
        first = collection.top(text=text, where={"place": {"lt": 250}})
        collection.top(text="w1 w2 w4", depth=100)
        assert collection.top(text=text, where={"place": {"lt": 250}}) == first
    query = resolve(CONFIG, text="w1")
    view = universe(collection.snapshot, query).view
    statistics = statistics_of(view, include_tombstoned=False)
    rows = lexical_view.lexical_view_of(view, statistics, include_tombstoned=False)
    assert rows.initial_sums is not None
    assert np.array_equal(rows.acquire_sums(), rows.initial_sums)
    for kind in (np.float32, np.float64, np.bool_):
        assert not rows.layout.zeros_pool.acquire(kind).any()


def test_an_older_snapshot_answers_the_same_beside_newer_ones(tuned):
    """Rows of all of them are in the same columns."""
    rng = random.Random(11)
    batches = [[" ".join(words(rng, 9)) for _ in range(count)] for count in (600, 550, 3, 4, 5)]
    collection = Collection(batches, tuning=tuned)
    index = Index(None, collection.store)
    snapshots = [collection.snapshot, *map(index.snapshot, collection.roots)]
    for asked in ({"text": "w1 w2"}, {"text": "w5 w1", "where": {"place": {"lt": 1_100}}}):
        for _ in range(2):
            for collection.snapshot in reversed(snapshots):
                agree(collection, **asked)


def test_few_rows_are_scored(monkeypatch):
    rng = random.Random(1)
    texts = [" ".join(words(rng, 30)) for _ in range(3000)]
    collection = Collection([texts], tuning=Tuning(exhaustive_postings_max=-1))
    scored = []
    scores = bm25.Scorer.scores
    monkeypatch.setattr(
        bm25.Scorer,
        "scores",
        lambda self, slots: (scored.append(len(slots)), scores(self, slots))[1],
    )
    collection.top(text="w3 w40 w41 w50", depth=10)
    assert sum(scored) < 300


def test_few_rows_are_summed(monkeypatch):
    rng = random.Random(1)
    collection = Collection([[" ".join(words(rng, 30)) for _ in range(3000)]])
    summed, marked = exhaustive._accumulate, []

    def counted(scorer, scope, parts, essential, depth):
        marked.extend(
            len(one.slots if place in essential else one.exceptions)
            for place, one in enumerate(parts)
        )
        return summed(scorer, scope, parts, essential, depth)

    monkeypatch.setattr(exhaustive, "_accumulate", counted)
    agree(collection, text="w2 w58 w59 w60", depth=10)
    marked.clear()
    collection.top(text="w2 w58 w59 w60", depth=10)
    assert 0 < sum(marked) < len(collection.plain(text="w2 w58 w59 w60", depth=3000)) / 2


@pytest.fixture
def made(monkeypatch):
    """The number of postings of each computation of contributions."""
    sizes, build = [], bm25.Scorer.contributions
    monkeypatch.setattr(
        bm25.Scorer,
        "contributions",
        lambda self, slots, *rest: (sizes.append(len(slots)), build(self, slots, *rest))[1],
    )
    return sizes


def test_the_gains_of_new_terms_are_made_in_one_go_and_not_kept(made):
    rng = random.Random(2)
    collection = Collection([[" ".join(words(rng, 30)) for _ in range(300)] for _ in range(2)])
    for expected in (1, 3, 3):
        collection.top(text="w1 w50", depth=10)
        assert len(made) == expected
    collection.top(text="w1 w50 w51 w52", depth=10)
    assert len(made) == 4


def test_a_common_term_that_is_new_is_computed_for_few_documents(made):
    rng = random.Random(1)
    collection = Collection([[" ".join(words(rng, 30)) for _ in range(3000)]])
    collection.top(text="w2 w58 w59 w60", depth=10)
    assert 0 < sum(made) < len(collection.plain(text="w2", depth=3000)) / 2


def test_every_term_with_and():
    """[4.1.2-a]"""
    collection = Collection([["red apple", "red pear", "green apple", "apple red"]])
    assert len(collection.top(text="red apple")) == 4
    assert len(collection.top(text="red apple", operator="and")) == 2
    assert collection.top(text="red apple nowhere", operator="and") == []


def test_phrases_stand_in_order():
    """[4.1.2-b] [4.1.3-a] [4.1.3-b]"""
    collection = Collection([["new york city", "york new city", "new old york"], ["a new york"]])
    assert len(collection.top(text='"new york"')) == 4
    assert len(collection.top(text='"new york"', phrases=True)) == 2
    assert len(collection.top(text='"new york" "york city"', phrases=True)) == 1
    assert len(collection.top(text='"new york', phrases=True)) == 4
    assert len(collection.top(text='"!?" york', phrases=True)) == 4


def test_phrases_survive_long_documents_and_merges():
    far = "x " * 70_000 + "needle in hay"
    collection = Collection(
        [["x needle", far], ["in hay needle"], ["needle in"], ["needle hay in"]]
    )
    assert len(collection.top(text='"needle in hay"', phrases=True)) == 1
    assert len(collection.top(text='"needle in"', phrases=True)) == 2
    assert len(collection.top(text='"x x x needle"', phrases=True)) == 1


def test_fuzzy_finds_misspelt_words_for_less():
    """[4.1.4-b]"""
    collection = Collection([["retrieval", "retreival", "retrieva", "retrievals", "other"]])
    assert len(collection.top(text="retrieval")) == 1
    found = collection.top(text="retrieval", fuzzy=True)
    assert len(found) == 4
    assert found[0][1] > found[1][1]
    assert len(collection.top(text="retrieval", fuzzy={"terms": 1})) == 2
    assert len(collection.top(text="retrieval", fuzzy={"length": 10})) == 1
    less = collection.top(text="retrieval", fuzzy={"weight": 0.25})
    assert less[1][1] == found[1][1] / 2


def test_a_word_that_no_document_has_gets_its_neighbours_unless_refused():
    """[4.1.4-a]"""
    collection = Collection([["retrieval", "retrievals", "other"]])
    assert len(collection.top(text="retrievall")) == 2
    assert len(collection.top(text="retrieval")) == 1
    assert collection.top(text="retrievall", fuzzy=False) == []
    assert len(collection.top(text="other retrievall", operator="and")) == 0
    assert len(collection.top(text="retrievall retrieval", operator="and")) == 0


@pytest.mark.parametrize("text", ["worksapces", "workspacse", "owrkspaces"])
def test_two_neighbouring_characters_that_changed_places_are_one_edit(text):
    """[4.1.4-c]"""
    collection = Collection([["workspaces", "other"]])
    assert collection.found(text) == {"workspaces"}
    query = resolve(CONFIG, text=text)
    fuzzy = query.match.fuzzy
    assert fuzzy is not None
    before = replace(query, match=replace(query.match, fuzzy=replace(fuzzy, swaps=False)))
    assert Query.decode(before.encode()) == before
    assert query.counting_like(before) == before
    assert "swaps" not in before.form()["match"]["fuzzy"]
    assert collection.top_by(before) == []


@pytest.mark.parametrize("text", ["servng", "servixg", "servong", "SERVNG"])
def test_a_letter_too_few_or_another_one_is_looked_for_in_the_word(text):
    """[4.1.4-d]"""
    collection = mixed("serving", "other")
    assert collection.found(text) == {"serving"}
    query = resolve(collection.config, text=text)
    fuzzy = query.match.fuzzy
    assert fuzzy is not None
    before = replace(query, match=replace(query.match, fuzzy=replace(fuzzy, letters=False)))
    assert Query.decode(before.encode()) == before
    assert query.counting_like(before) == before
    assert "letters" not in before.form()["match"]["fuzzy"]
    assert collection.top_by(before) == []


def test_only_the_first_few_words_of_a_question_are_respelt():
    """[4.1.4-d]"""
    collection = mixed("serving", "other")
    unknown = "qqqqa qqqqb 東京 qqqqc qqqqqqqqqqqqqqqqqqqqqqqqq"
    assert collection.found(f"{unknown} {unknown} servng") == {"serving"}
    assert collection.found(f"qqqqd {unknown} servng") == set()


def test_a_long_question_is_respelt_in_its_first_words_alone():
    """[4.1.4-e]"""
    collection = mixed("serving", "other")
    unknown = [f"qqqq{a}{b}" for a in "abcdef" for b in "ghijkl"]
    ignored = ["logErrr", "q" * 25, "qqqqag"]  # "Errr" counts
    text = " ".join([*unknown[:30], *ignored, "servingg"])
    assert collection.found(text) == {"serving"}
    assert collection.found(" ".join([*unknown[:32], "servingg"])) == set()
    query = resolve(collection.config, text=" ".join([*unknown[:32], "servingg"]))
    assert query.form()["match"]["bounded"] is True
    before = replace(query, match=replace(query.match, bounded=False))
    assert Query.decode(before.encode()) == before
    assert query.counting_like(before) == before
    assert "bounded" not in before.form()["match"]
    assert len(collection.top_by(before)) == 1


def test_a_short_question_is_respelt_in_every_word():
    """[4.1.4-e]"""
    assert not resolve(CONFIG, text="q" * 128).match.bounded
    assert resolve(CONFIG, text="q" * 129).match.bounded
    assert resolve(CONFIG, text="q", queries=["q" * 129]).match.bounded
    assert not resolve(CONFIG, text="q" * 129, fuzzy=False).match.bounded


def test_terms_that_no_document_has_are_not_cached():
    collection = mixed("serving", "other")
    query = resolve(collection.config, text="servng")
    collection.top_by(query)
    whole = universe(collection.snapshot, query)
    statistics = statistics_of(whole.view, include_tombstoned=False)
    view = lexical_view.lexical_view_of(whole.view, statistics, include_tombstoned=False)
    assert {text for text, _, _ in view._terms} == {"servng", "serv"}


GERMAN = "die Katze und der Hund in den Häusern"
ENGLISH_TEXTS = ["the cat and the dog in the house", "a server for the houses", "other"]


def mixed(*texts: str) -> Collection:
    return Collection([list(texts)], config=Config(fields=("summary",)))


def test_a_question_finds_documents_of_every_language_that_the_view_holds():
    """[4.1.6-a]"""
    collection = mixed(GERMAN, *ENGLISH_TEXTS)
    assert collection.found("Haus") == {GERMAN}
    assert collection.found("Häuser") == {GERMAN}
    assert collection.found("haeuser") == {GERMAN}
    assert collection.found("houses") == set(ENGLISH_TEXTS[:2])
    assert collection.found("hund") == {GERMAN}


FEW = "les chevaux sont dans les prairies et le fermier les nourrit"


def test_a_few_documents_in_another_language_are_found_by_words_that_no_other_has():
    """[4.1.6-e] "chevaux" was not found in one text of 65 with just that word."""
    collection = mixed(FEW, *(f"the horse and the house {n}" for n in range(64)))
    for word in ("chevaux", "cheval", "CHEVAUX", "nourrit", "prairie", "chevaus"):
        assert collection.found(word) == {FEW}
    assert collection.found("où sont les chevaux", fuzzy=False) == {FEW}
    assert collection.found("fermier nourrit", operator="and", fuzzy=False) == {FEW}
    assert collection.found('"chevaux sont"', phrases=True) == {FEW}
    assert collection.found("affichees") == set()


def test_a_few_documents_in_another_language_change_no_other_word():
    """[4.1.6-a] Under the analyser of German "houses" is another word."""
    texts = [f"the house {n}" for n in range(64)]
    collection = mixed(GERMAN, *texts)
    query = resolve(collection.config, text="house houses", fuzzy=False)
    before = replace(query, match=replace(query.match, minor=False))
    assert collection.found("house houses", fuzzy=False) == set(texts)
    assert collection.top_by(query) == collection.top_by(before)
    collection = mixed(GERMAN, *texts[1:])
    assert collection.found("Häuser", fuzzy=False) == {GERMAN}


def test_a_question_of_before_counts_no_languages_of_few_documents():
    """[4.1.6-e]"""
    collection = mixed(FEW, *(f"the house {n}" for n in range(64)))
    query = resolve(collection.config, text="chevaux", fuzzy=False)
    assert len(collection.top_by(query)) == 1
    assert query.form()["match"]["minor"] is True
    before = replace(query, match=replace(query.match, minor=False))
    assert "minor" not in before.form()["match"]
    assert query.counting_like(before) == before
    assert collection.top_by(Query.decode(before.encode())) == []
    assert not resolve(Config(), label="Note").match.minor


def test_stop_words_are_those_of_the_language_of_the_question():
    """[4.1.6-a]"""
    collection = mixed(GERMAN, "sie will die harder", *ENGLISH_TEXTS)
    assert collection.found("wo ist die Katze und der Kater", fuzzy=False) == {GERMAN}
    assert GERMAN not in collection.found("what is the server in the houses")


def test_the_forms_of_a_word_have_one_document_frequency():
    """[4.1.6-b]"""
    collection = mixed("der Server und die Kabel", "the server cable", "a cat", "cats")
    first, second = collection.top(text="server")
    assert first[1] == second[1]


def test_phrases_are_found_in_every_language():
    """[4.1.6-c]"""
    collection = mixed(GERMAN, *ENGLISH_TEXTS)
    assert collection.found('"Katze Hund"', phrases=True) == {GERMAN}
    assert collection.found('"cat dog" "house"', phrases=True) == {ENGLISH_TEXTS[0]}
    assert collection.found('"hund haus"', phrases=True, operator="and") == {GERMAN}


FRENCH = "les options sont affichées dans la fenêtre et la liste"


def test_accents_make_no_difference_in_a_question_or_in_a_text():
    """[4.1.6-d]"""
    plain = "les pages affichees sont dans la liste"
    for home in ("english-1", "french-1"):
        config = Config(fields=("summary",), analyser=home)
        collection = Collection([[FRENCH, plain, "les options de la liste"]], config=config)
        for word in ("affichees", "affichées", "AFFICHÉE"):
            assert collection.found(word, fuzzy=False) == {FRENCH, plain}
        assert collection.found("affichees fenetre", operator="and", fuzzy=False) == {FRENCH}


def test_a_question_of_before_counts_its_accents():
    """[4.1.6-d]"""
    collection = mixed(FRENCH, *ENGLISH_TEXTS)
    query = resolve(collection.config, text="affichees", fuzzy=False)
    assert len(collection.top_by(query)) == 1
    assert query.form()["match"]["accents"] is True
    before = replace(query, match=replace(query.match, accents=False))
    assert "accents" not in before.form()["match"]
    assert query.counting_like(before) == before
    assert collection.top_by(Query.decode(before.encode())) == []
    assert not resolve(Config(), label="Note").match.accents


def test_a_letter_too_many_in_an_ending_is_found():
    """[4.1.4-c]"""
    spanish = "los servidores de la red responden lentamente cuando no hay memoria"
    collection = mixed(GERMAN, spanish, *ENGLISH_TEXTS)
    assert collection.found("servidoress") == {spanish}
    assert collection.found("serverss") == {ENGLISH_TEXTS[1]}
    assert collection.found("Häusernn") == {GERMAN}
    assert collection.found("serverss", fuzzy=False) == set()
    assert collection.found("serverss", fuzzy={"length": 9}) == set()
    assert collection.found("serversss") == set()


def test_fuzzy_takes_the_commonest_first_then_text_order():
    """[4.1.4-a]"""
    collection = Collection([["cart", "card", "card", "care", "cars"]])
    wanted = [key.raw for key, text in collection.texts.items() if text == "card"]
    found = collection.top(text="carx", fuzzy={"terms": 1})
    assert [key for key, _ in found] == wanted
    found = collection.top(text="carx", fuzzy={"terms": 2})
    assert len(found) == 3
    assert {collection.texts[NodeId(key)] for key, _ in found} == {"card", "care"}


def test_fuzzy_counts_characters_not_bytes():
    collection = Collection([["na\u00efvet\u00e9", "\u05e9\u05dc\u05d5\u05dd", "other"]])
    for text in (
        "na\u00efvete",
        "na\u00efvet\u00e9s",
        "na\u00efvt\u00e9",
        "\u05e9\u05dc\u05d5\u05dd\u05d5",
    ):
        assert len(collection.top(text=text, fuzzy=True)) == 1, text
    assert collection.top(text="naivete", fuzzy=True) == []


def test_and_takes_what_a_term_brings_in():
    """[4.1.2-a]"""
    collection = Collection([["green apples", "green apple", "red apples"]])
    assert len(collection.top(text="green apple", operator="and")) == 1
    assert len(collection.top(text="green apple", operator="and", fuzzy=True)) == 2


@pytest.mark.parametrize(
    "options",
    [
        {"operator": "xor"},
        {"operator": True},
        {"phrases": 1},
        {"fuzzy": 2},
        {"fuzzy": {"distance": 2}},
        {"fuzzy": {"weight": 0.0}},
        {"fuzzy": {"weight": 1.5}},
        {"fuzzy": {"terms": 0}},
        {"fuzzy": {"length": 0.5}},
    ],
)
def test_wrong_options_are_named(options):
    [name] = options
    with pytest.raises(InvalidInputError, match=name):
        resolve(CONFIG, text="a", **options)


def test_lexical_options_need_a_text():
    with pytest.raises(InvalidInputError, match="phrases"):
        resolve(CONFIG, label="Odd", phrases=True)


def test_a_word_that_a_question_repeats_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    analysed: list[str] = []

    def counted(text: str, name: str) -> list[str]:
        analysed.append(text)
        return analyse(text, name)

    monkeypatch.setattr(query_words, "analyse", counted)
    query = resolve(Config(), text="serverss down " * 9)
    found = query_words.edited_terms(query, "english-1", (), [("serverss",)])
    assert "server" in found["serverss",]
    count = len("serverss")
    assert len(analysed) == 2 * count - 1 + 26 * (2 * count + 1)


def test_the_words_of_a_long_question_cost_no_more_spellings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    analysed: list[str] = []

    def counted(text: str, name: str) -> list[str]:
        analysed.append(text)
        return analyse(text, name)

    monkeypatch.setattr(query_words, "analyse", counted)
    counts = []
    for count in (40, 400):
        words = [f"q{'abcdefghij'[n // 100]}{n % 100:02}qqqq" for n in range(count)]
        query = resolve(Config(), text=" ".join(words))
        analysed.clear()
        query_words.edited_terms(query, "english-1", (), [(word,) for word in words])
        counts.append(len(analysed) - count)
    assert counts == [32 * (2 * 8 - 1)] * 2
