"""Every option of a question, declared once: what it is called, what it takes, what holds without
it, where the canonical form keeps it, and how the command line spells it.

`resolve` fills in and checks what a person gives by this table, `Query` takes its defaults from it,
the command line makes its options of it, and `docs/question-options.md` is printed from it. The
signature that type checkers see is `signature.py`, which a test compares with the table. Only what
an option means is elsewhere: in the module that resolves it.

An option inside a mapping has a dotted name, `graph.seeds`. The order is that of the help.

This module imports nothing heavy: `repo retrieve --help` reads it.

Spec: retrieval 3.
"""

from __future__ import annotations

from typing import Any

from ibidem.objects.constants import BM25_B, BM25_K1, TIME_MAX, TIME_MIN
from ibidem.objects.record import record

COUNT_MAX = 2**53
DEFAULT = "the default"
"""What None stands for, where it stands for that."""
LIMIT_OF_PACKS = 5
"""The default of `limit` where packs are asked for."""
DAY = 86_400_000_000


@record
class Flag:
    """How the command line spells an option."""

    name: str
    help: str = ""
    """Where it differs from that of the option, because a command line spells it differently."""
    metavar: str | None = None
    is_switch: bool = False
    """Given without a value."""
    is_many: bool = False
    """Given any number of times."""
    shows_default: bool = False

    @property
    def parameter(self) -> str:
        """The name of the parameter of a command."""
        return self.name.removeprefix("--").replace("-", "_")


@record
class Option:
    """One option of a question."""

    name: str
    type: str
    """As an annotation, without None."""
    default: Any = None
    none: str = ""
    """What None stands for; empty where it is refused."""
    low: float = 0
    high: float = COUNT_MAX
    """Of a number; of a collection, how many."""
    choices: tuple[str, ...] = ()
    form: str | None = ""
    """Where the canonical form keeps it; empty for its own name, None for nowhere."""
    help: str = ""
    """A sentence, without a full stop."""
    flag: Flag | None = None

    @property
    def key(self) -> str:
        """The name inside the mapping that it belongs to."""
        return self.name.rpartition(".")[2]

    @property
    def place(self) -> str | None:
        """Where the canonical form keeps it, with dots."""
        return self.name if self.form == "" else self.form

    @property
    def annotation(self) -> str:
        """The type of what may be given."""
        return f"{self.type} | None" if self.none else self.type


Settings = dict[str, Any]
_NO = "no"
_ANY = "any"
_DIRECTIONS = ("outgoing", "incoming", "both")
_WEIGHT_MAX = 1e9
_NODES_MAX = 1_000_000
_RECORDS_MAX = 10_000
_SEEDS: Settings = {"default": 3, "low": 1, "high": 1000}
_ETYPES: Settings = {"none": _ANY, "low": 1, "high": 1000}
_WALK_STEPS: Settings = {"default": 2, "low": 1, "high": 4}
_ROUNDS: Settings = {"low": 1, "high": 100}
_SWITCH: Settings = {"type": "bool | Mapping[str, Any]", "none": _NO}

GROUPS: dict[str, tuple[Option, ...]] = {
    "what is looked for": (
        Option("text", "str", none=_NO, help="Ranks by its terms; blank text counts as none"),
        Option(
            "label", "str | Iterable[str]", none=_ANY, high=1000, form="labels",
            help="Only nodes of this type",
            flag=Flag("--label", "Only nodes of this type; again for any of several", is_many=True),
        ),
        Option(
            "where", "Mapping[str, object] | Predicate", none=_ANY,
            help="Conditions on properties",
            flag=Flag(
                "--where",
                "Only nodes whose property compares so: = != < <= > >=, or NAME? to exist; "
                "again for all",
                metavar="NAME=VALUE", is_many=True,
            ),
        ),
        Option(
            "include_tombstoned", "bool", False,
            help="Whether nodes that a tombstone hides count as well",
        ),
    ),
    "vectors": (
        Option(
            "model", "str", none=_NO, form=None,
            help="Embeds the text, with the embedder in use for the model, and ranks by its vector",
            flag=Flag("--model", "Rank by the vector of QUERY too, as `repo embed`", "MODEL"),
        ),
        Option(
            "embedder", "Embedder", none=_NO, form=None,
            help="Likewise, with this embedder; its name is the model's unless that is given",
        ),
        Option(
            "vector", "tuple[str, Any]", none=_NO, help="A model and numbers, (d,) float32",
            flag=Flag("--vector", "Rank by this query vector too", "MODEL=FILE.npy"),
        ),
        Option(
            "sparse", "tuple[str, Any, Any]", none=_NO,
            help="A vocabulary, tokens and weights; tokens in any order, none twice",
        ),
    ),
    "how a text matches": (
        Option(
            "operator", "str", "or", choices=("or", "and"), form="match.operator",
            help="Whether a document needs one of the text's terms, or all of them",
            flag=Flag(
                "--operator",
                "Whether a text needs any or all of QUERY's terms; any if not given",
            ),
        ),
        Option(
            "phrases", "bool", False, form="match.phrases",
            help='Words in "quotes" must stand side by side',
            flag=Flag("--phrases", is_switch=True),
        ),
        Option(
            "fuzzy", "bool | Mapping[str, float]", none=_NO, form="match.fuzzy",
            help="Terms at edit distance 1 count as well",
            flag=Flag(
                "--fuzzy", "Terms one edit away from QUERY's count too", is_switch=True
            ),
        ),
        Option(
            "fuzzy.weight", "float", 0.5, low=0.01, high=1.0, form="match.fuzzy.weight",
            help="What their gain is multiplied with",
        ),
        Option(
            "fuzzy.terms", "int", 20, low=1, high=100, form="match.fuzzy.terms",
            help="How many of them a term of the text brings in at most",
        ),
        Option(
            "fuzzy.length", "int", 4, low=1, high=100, form="match.fuzzy.length",
            help="Shorter terms of the text bring in none; in characters",
        ),
        Option(
            "fuzzy.rare", "int", none="no limit", low=1, form="match.fuzzy.rare",
            help="Terms of the text that this many documents have bring in none",
        ),
        Option("k1", "float", BM25_K1, none=DEFAULT, high=1000.0, help="BM25's saturation"),
        Option("b", "float", BM25_B, none=DEFAULT, high=1.0, help="BM25's length normalisation"),
    ),
    "graph": (
        Option(
            "graph", "Mapping[str, object]", none=_NO,
            help="What edges lead to from the best nodes counts too",
        ),
        Option(
            "graph.mode", "str", choices=("ppr", "decay"),
            help="Personalised PageRank, or best paths",
            flag=Flag(
                "--graph",
                "Rank by what edges lead to as well: personalised PageRank, or best paths",
            ),
        ),
        Option(
            "graph.depth", "int", **_WALK_STEPS, help="Steps of a best path; `decay`",
            flag=Flag("--graph-depth", "Steps of a best path; {default} if not given", "STEPS"),
        ),
        Option(
            "graph.seeds", "int", **_SEEDS, help="Best nodes to begin at",
            flag=Flag("--graph-seeds", "Best nodes to begin at; {default} if not given", "N"),
        ),
        Option(
            "graph.direction", "str", "both", choices=_DIRECTIONS,
            help="The way that edges are followed",
            flag=Flag(
                "--direction", "The way that --graph follows edges; {default} if not given"
            ),
        ),
        Option(
            "graph.etypes", "Iterable[str]", **_ETYPES, help="Only edges of these types",
            flag=Flag(
                "--etype", "Only edges of this type; again for any of several", is_many=True
            ),
        ),
        Option(
            "graph.weights", "Mapping[str, float]", {}, high=_WEIGHT_MAX,
            help="By type, a factor of every edge of it; 1.0 where absent",
        ),
        Option(
            "graph.max_expand", "int", none="the depth of the question", low=1, high=_NODES_MAX,
            help="How many nodes the lane returns",
        ),
        Option("graph.decay", "float", 0.7, high=1.0, help="The factor of every step; `decay`"),
        Option(
            "graph.max_per_seed", "int", none=_ANY, low=1, high=_NODES_MAX,
            help="How many nodes, seeds not counted, one seed may bring; `decay`",
        ),
        Option(
            "graph.max_frontier", "int", 5000, low=1, high=_NODES_MAX,
            help="How many nodes are walked from at each step; `decay`",
        ),
        Option(
            "graph.damping", "float", 0.85, high=0.999,
            help="How likely the walk goes on at each step; `ppr`",
        ),
        Option(
            "graph.epsilon", "float", 3e-4, high=1.0,
            help="The share, for each arc of a node, below which what a node has is not passed "
            "on; `ppr`",
        ),
        Option("graph.rounds", "int", 15, **_ROUNDS, help="How often it is passed on; `ppr`"),
    ),
    "community": (
        Option(
            "community", "Mapping[str, object]", none=_NO,
            help="What belongs together with the best nodes counts too",
            flag=Flag("--community", "Rank by communities of the best nodes too", is_switch=True),
        ),
        Option("community.etypes", "Iterable[str]", **_ETYPES, help="Only edges of these types"),
        Option(
            "community.weights", "Mapping[str, float]", {}, high=_WEIGHT_MAX,
            help="By type, a factor of every edge of it; 1.0 where absent",
        ),
        Option("community.seeds", "int", **_SEEDS, help="Best nodes to begin at"),
        Option(
            "community.hops", "int", **_WALK_STEPS,
            help="How far from the seeds labels are propagated",
        ),
        Option("community.rounds", "int", 8, **_ROUNDS, help="How often they are propagated"),
        Option("community.decay", "float", 0.85, high=1.0, help="The factor of every step"),
        Option(
            "community.max_per_community", "int", 10, none=_ANY, low=1, high=_NODES_MAX,
            help="How many nodes of one community count",
        ),
        Option(
            "community.max_nodes", "int", 5000, low=1, high=_NODES_MAX,
            help="How many nodes take part",
        ),
    ),
    "validity": (
        Option(
            "valid_at", "int | datetime", none=_ANY, low=TIME_MIN, high=TIME_MAX,
            form="valid.at",
            help="Only nodes that hold then, by their properties valid_from and valid_to",
            flag=Flag("--valid-at", metavar="TIME"),
        ),
        Option(
            "valid_missing", "str", "pass", none=DEFAULT, choices=("pass", "drop"),
            form="valid.missing", help="What becomes of nodes that say nothing about time",
        ),
    ),
    "fusion": (
        Option(
            "fusion", "str", none="as configured",
            choices=("rrf", "weighted_rrf", "convex", "score_normalised"), form="fusion.name",
            help="How lanes become one score, where not as the repository is configured",
            flag=Flag("--fusion"),
        ),
        Option(
            "rrf_k", "float", none="as configured", high=1e9, form="fusion.k",
            help="The constant that reciprocal ranks are damped with",
        ),
        Option(
            "weights", "Mapping[str, float]", none="as configured", high=_WEIGHT_MAX,
            form="fusion.weights", help="By lane, for all fusions but `rrf`; 1.0 where absent",
        ),
    ),
    "order": (
        Option(
            "rerank", "Reranker", none=_NO,
            help="Scores the first of the fused order; the receipt keeps what it says",
        ),
        Option(
            "rerank_text", "str", none="the question's", form="rerank.text",
            help="What it compares with",
        ),
        Option(
            "rerank_depth", "int", 25, none=DEFAULT, low=1, high=1000, form="rerank.depth",
            help="How many of the fused order it scores",
        ),
        Option(
            "rerank_timeout", "float", 8.0, none=DEFAULT, high=3600.0, form=None,
            help="Seconds that it may take, more than 0; after them the order stands",
        ),
        Option(
            "mmr", "Mapping[str, float]", none=_NO,
            help="Prefers items unlike those before, by maximal marginal relevance",
        ),
        Option(
            "mmr.lambda", "float", 0.7, high=1.0,
            help="The part of relevance; 1.0 changes nothing",
            flag=Flag(
                "--mmr",
                "Prefer items unlike those before: 1 for relevance alone, "
                "{default} for some diversity",
                "LAMBDA",
            ),
        ),
        Option(
            "mmr.depth", "int", 40, low=1, high=1000,
            help="How many of the order are taken again; the rest stays after them",
        ),
    ),
    "recall": (
        Option(
            "expansion", **_SWITCH, form="recall.expansion",
            help="Asks shorter forms of the text too",
            flag=Flag("--expansion", "Ask shorter forms of QUERY too", is_switch=True),
        ),
        Option(
            "expansion.queries", "int", 4, low=1, high=20, form="recall.expansion.queries",
            help="How many texts are asked at most, the question among them",
        ),
        Option(
            "expansion.letters_min", "int", 3, low=1, high=100,
            form="recall.expansion.letters_min", help="Shorter words are left out",
        ),
        Option(
            "expansion.safe", "int", 3, low=1, high=100_000, form="recall.expansion.safe",
            help="How many of the best that the question itself found stay above what only a "
            "shorter form found",
        ),
        Option(
            "recency", **_SWITCH, form="recall.recency",
            help="What is old, by its property time, counts less; its age is that at the commit",
            flag=Flag("--recency", is_switch=True),
        ),
        Option(
            "recency.property", "str", "time", form="recall.recency.property",
            help="Holds a node's time; a node without one is neither lifted nor lowered",
        ),
        Option(
            "recency.half_life", "int", 7 * DAY, low=1, high=TIME_MAX,
            form="recall.recency.half_life", help="In microseconds",
        ),
        Option(
            "recency.weight", "float", 0.2, high=1.0, form="recall.recency.weight",
            help="The part of the score that ages",
        ),
        Option(
            "importance", "bool | str", none=_NO, form="recall.importance",
            help="The property importance, 0 to 1, counts; or the property of this name",
            flag=Flag(
                "--importance", "The property importance, 0 to 1, counts", is_switch=True
            ),
        ),
        Option(
            "feedback", "bool", none=_NO, form="recall.feedback",
            help="Votes count, and what was not useful",
            flag=Flag("--feedback", is_switch=True),
        ),
        Option(
            "worth", **_SWITCH, form="recall.worth",
            help="How it went when a node was used counts",
            flag=Flag("--worth", is_switch=True),
        ),
        Option(
            "worth.half_life", "int", none="they do not age", low=1, high=TIME_MAX,
            form="recall.worth.2", help="Of outcomes, in microseconds",
        ),
        Option(
            "direct", **_SWITCH, form="recall.direct",
            help="Says whether one item answers alone",
            flag=Flag("--direct", "Say whether one item answers alone", is_switch=True),
        ),
        Option(
            "direct.overlap", "int", 550, high=1000, form="recall.direct.overlap",
            help="How many of the text's words must be in the node, in permille",
        ),
        Option(
            "direct.importance", "int", 700, high=1000, form="recall.direct.importance",
            help="The least importance, in permille",
        ),
        Option(
            "direct.margin", "int", 150, high=1000, form="recall.direct.margin",
            help="By how much the best must lead, in permille",
        ),
        Option(
            "direct.buckets", "Iterable[str]",
            ("conventions", "decisions", "entities", "principles", "runbooks"),
            form="recall.direct.buckets", help="The kinds of nodes that may answer",
        ),
        Option(
            "direct.entities", "Iterable[str]", (), form="recall.direct.entities",
            help="What the question is about, where that is known",
        ),
        Option(
            "as_of", "int | datetime", none="the time of the commit", high=TIME_MAX,
            form="recall.recency.as_of",
            help="The time that ages are measured from; with `worth` that of the notes if newer",
        ),
        Option(
            "notes", "CommitCid | str", none=_NO, form="recall.feedback",
            help="The state of the notes, or their space, where votes or outcomes count; the "
            "newest of the space `memory` if not given",
        ),
    ),
    "what is returned": (
        Option(
            "adjacency", "int", 0, high=1000, help="Edges shown in each direction",
            flag=Flag("--adjacency", metavar="N"),
        ),
        Option(
            "content_chars", "int", 0, help="How many characters of a node's content are shown"
        ),
        Option(
            "estimator", "str | TokenEstimator", "heuristic",
            help="What counts tokens: heuristic, tiktoken:ENCODING or tokenizers:FILE",
            flag=Flag("--estimator", metavar="NAME"),
        ),
        Option(
            "token_budget", "int", none=_ANY, help="Tokens the items may cost together",
            flag=Flag("--budget", metavar="TOKENS"),
        ),
        Option(
            "depth", "int", 100, low=1, high=100_000, help="Nodes from each lane",
            flag=Flag("--depth", shows_default=True),
        ),
        Option(
            "limit", "int", 10, none="all", help="Items at most", flag=Flag("--limit")
        ),
        Option(
            "strict", "bool", False, form=None,
            help="A warning is an error, and leaves no receipt",
        ),
        Option(
            "packs", "Mapping[str, object]", none=_NO,
            help="Asks for packs of nodes and not for nodes; `packs` gives it from its own options",
        ),
    ),
    "records": (
        Option(
            "records", "Mapping[str, object]", none=_NO,
            help="Asks for records and what they are tied to, not for nodes; a graph memory gives "
            "it from its own options",
        ),
        Option(
            "records.as_of", "int", low=TIME_MIN, high=TIME_MAX,
            help="The time of salience, and of the ages of outcomes",
        ),
        Option(
            "records.undated", "int", none="`as_of`", low=TIME_MIN, high=TIME_MAX,
            help="The time of records that have none",
        ),
        Option(
            "records.notes", "CommitCid", none=_NO, help="The state of the notes that counts"
        ),
        Option(
            "records.min_salience", "float", 0.0, high=1.0,
            help="The least salience of what is returned",
        ),
        Option(
            "records.root_limit", "int", 10, high=_RECORDS_MAX, help="Records that are ranked"
        ),
        Option(
            "records.node_limit", "int", 25, high=_RECORDS_MAX,
            help="Records in all, those that are ranked among them",
        ),
        Option("records.edge_limit", "int", 100, high=_RECORDS_MAX, help="Relations at most"),
        Option("records.hops", "int", 1, high=16, help="Steps from a ranked record"),
        Option(
            "records.direction", "str", "both", choices=_DIRECTIONS,
            help="The way that relations are followed",
        ),
        Option(
            "records.top_min", "float", 0.6, high=1.0,
            help="A best selector score below this needs more",
        ),
        Option(
            "records.gap_min", "float", 0.0, high=1.0,
            help="Or a gap to the second below this",
        ),
    ),
    "access": (
        Option(
            "trust", "TrustContext", none=_NO,
            help="What the caller may see; required where the root has a trust policy",
        ),
    ),
    "packs": (
        Option(
            "expand", "str", "neighbors", choices=("neighbors", "section", "edges"),
            form="packs.expand", help="What is taken around a hit",
            flag=Flag(
                "--expand",
                "What is taken around a hit; passages before and after it if not given",
            ),
        ),
        Option(
            "per_hit_neighbors", "int", 1, high=1000, form="packs.per_hit_neighbors",
            help="Passages on each side of a hit; not with `edges`",
            flag=Flag("--around", "Passages on each side of a hit; {default} if not given", "N"),
        ),
        Option(
            "merge", "str", "absorb", choices=("absorb", "coalesce"), form="packs.merge",
            help="Keep packs small, or make one of those that overlap",
            flag=Flag("--merge"),
        ),
        Option(
            "budget", "str", "skip", choices=("skip", "stop"), form="packs.budget",
            help="What a pack does that is over the budget: be skipped, or end the answer",
            flag=Flag("--overflow"),
        ),
        Option(
            "rank", "str", "score", choices=("score", "none", "hybrid"), form="packs.rank",
            help="By score; in document order; or 0.7 by words and 0.3 by vector",
            flag=Flag("--rank"),
        ),
        Option(
            "spans", "bool", False, form="packs.spans", help="Says where the texts match",
            flag=Flag("--spans", "Say in --json where the texts match", is_switch=True),
        ),
        Option(
            "nodes_max", "int", none=_ANY, low=1, high=100_000, form="packs.nodes_max",
            help="Nodes in a pack at most",
            flag=Flag("--nodes-max", metavar="N"),
        ),
        Option(
            "etypes", "Iterable[str]", **_ETYPES, form="packs.edges.etypes",
            help="With `edges`, only of these types",
            flag=Flag("--walk-etype", "With --expand edges, only of this type", is_many=True),
        ),
        Option(
            "hops", "int", 1, high=8, form="packs.edges.hops", help="With `edges`, how far",
            flag=Flag("--walk-hops", "With --expand edges, how far", "N"),
        ),
        Option(
            "fanout", "int", 8, low=1, high=1000, form="packs.edges.fanout",
            help="With `edges`, how many nodes from each",
            flag=Flag("--walk-fanout", "And how many nodes from each", "N"),
        ),
        Option(
            "direction", "str", "both", choices=_DIRECTIONS, form="packs.edges.direction",
            help="With `edges`, which way",
            flag=Flag("--walk-direction", "And which way"),
        ),
    ),
}  # fmt: skip
"""Every option, by what it is about."""
OPTIONS = {option.name: option for group in GROUPS.values() for option in group}
"""Every option by its name."""
OF_PACKS = {option.name: option for option in GROUPS["packs"]}
"""Those of the mapping `packs`, which have no dots: who asks for packs gives them by themselves."""
OF_QUERY = {
    name: option
    for name, option in OPTIONS.items()
    if option.form is not None and "." not in name and name not in OF_PACKS
}
"""Those that `resolve` takes; the others of a question become some of these before."""
OF_RECALL = frozenset(option.name for option in GROUPS["recall"]) & OF_QUERY.keys()
_MEMBERS: dict[str, tuple[Option, ...]] = {}
for _name, _option in OPTIONS.items():
    _mapping = _name.rpartition(".")[0]
    if _mapping:
        _MEMBERS[_mapping] = (*_MEMBERS.get(_mapping, ()), _option)


def default(name: str) -> Any:
    """Returns what holds without an option."""
    return OPTIONS[name].default


def members(name: str) -> tuple[Option, ...]:
    """Returns the options inside a mapping, in order."""
    return _MEMBERS[name]


def defaults(name: str) -> dict[str, Any]:
    """Returns the defaults of the options inside a mapping, by key."""
    return {option.key: option.default for option in members(name)}
