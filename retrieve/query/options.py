"""The table of all query options: name, type, default, place in the canonical form, and command
line flag, each declared once.

`resolve` checks arguments against this table and fills in its defaults, `Query` takes its defaults
from it, the command line builds its flags from it, and `docs/question-options.md` is generated from
it. `signature.py` has the signature that type checkers see; a test compares it with the table. The
meaning of an option is implemented in the module that resolves it.

An option inside a mapping has a dotted name, such as `graph.seeds`. The help lists options in this
order.

This module imports nothing heavy: `repo retrieve --help` reads it.

Spec: retrieval 3.
"""

from __future__ import annotations

from typing import Any

from ibidem.objects.constants import BM25_B, BM25_K1, COUNT_MAX, TIME_MAX, TIME_MIN
from ibidem.objects.record import record

DEFAULT = "the default"
"""The meaning of None for options where None selects the default."""
LIMIT_OF_PACKS = 5
"""The default of `limit` for packs."""
FOR_READERS: dict[str, Any] = {"overflow": "excerpt", "dedupe": "near", "headings": "drop"}
"""The options of items and packs that the command line and the explorer request if nothing else is
given, as the MCP server does. In Python, over HTTP and in recorded runs the defaults of the table
hold."""
RULES = ("least", "sentences", "fill", "enough", "slack", "beside", "titles")
"""The fields of packs that no option sets: the rules of this release. Questions that were recorded
before lack some, and are answered as they were."""

DAY = 86_400_000_000


@record
class Flag:
    """How the command line spells an option."""

    name: str
    help: str = ""
    """The help of the flag, if it differs from that of the option."""
    metavar: str | None = None
    is_switch: bool = False
    """Whether the flag takes no value."""
    off: str | None = None
    """The flag that turns off a switch that is on by default."""
    is_many: bool = False
    """Whether the flag may be repeated."""

    @property
    def parameter(self) -> str:
        """The name of the parameter of a command."""
        return self.name.removeprefix("--").replace("-", "_")


@record
class Option:
    """One query option."""

    name: str
    type: str
    """A type annotation, without None."""
    default: Any = None
    none: str = ""
    """The meaning of None; empty if None is refused."""
    low: float = 0
    high: float = COUNT_MAX
    """Bounds of a number, or of the size of a collection."""
    choices: tuple[str, ...] = ()
    form: str | None = ""
    """Its field in the canonical form; empty for its own name, None if it has none."""
    help: str = ""
    """One sentence, without a full stop."""
    flag: Flag | None = None
    is_setting: bool = False
    """Whether a root's configuration may give its default; see `settings.py`."""

    @property
    def key(self) -> str:
        """The name inside the mapping that it belongs to."""
        return self.name.rpartition(".")[2]

    @property
    def place(self) -> str | None:
        """Its path in the canonical form, with dots."""
        return self.name if self.form == "" else self.form

    @property
    def annotation(self) -> str:
        """The type of the values that may be given."""
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
_MOMENT: Settings = {
    "type": "int | datetime",
    "none": _ANY,
    "low": TIME_MIN,
    "high": TIME_MAX,
}
_WALK_STEPS: Settings = {"default": 2, "low": 1, "high": 4}
_ROUNDS: Settings = {"low": 1, "high": 100}
_SWITCH: Settings = {"type": "bool | Mapping[str, Any]", "none": _NO}

GROUPS: dict[str, tuple[Option, ...]] = {
    "what is looked for": (
        Option("text", "str", none=_NO, help="Text to rank by; blank text counts as none"),
        Option(
            "queries", "Sequence[str | Mapping[str, Any]]", none=_NO, low=1, high=16,
            help="Further questions, each a text or a mapping of `text`, `vector` and `sparse`; "
            "each ranks as one more lane",
            flag=Flag(
                "--also", "Also rank by this wording of QUERY, or part of it; may be repeated",
                "QUERY", is_many=True,
            ),
        ),
        Option(
            "imagine", "LanguageModel", none=_NO, form=None,
            help="Also ranks by an answer that this model imagines; it is kept in `queries`",
            flag=Flag(
                "--imagine", "Also rank by an answer that this language model imagines: "
                "openai:NAME or ollama:NAME; the receipt keeps it",
                "MODEL",
            ),
        ),
        Option(
            "reword", "LanguageModel", none=_NO, form=None,
            help="Also ranks by three other wordings by this model; they are kept in `queries`",
            flag=Flag(
                "--reword", "Also rank by three other wordings of QUERY by this language model; "
                "the receipt keeps them",
                "MODEL",
            ),
        ),
        Option(
            "label", "str | Iterable[str]", none=_ANY, high=1000, form="labels",
            help="Only nodes of this type",
            flag=Flag(
                "--label",
                "Only nodes of this type; may be repeated to allow several",
                is_many=True,
            ),
        ),
        Option(
            "where", "Mapping[str, object] | Predicate", none=_ANY,
            help='Conditions on properties, such as {"year": {"gte": 2000}}',
            flag=Flag(
                "--where",
                "Only nodes whose property satisfies this: = != < <= > >=, or NAME? if it "
                "exists; repeated conditions must all hold",
                metavar="NAME=VALUE", is_many=True,
            ),
        ),
        Option(
            "include_tombstoned", "bool", False,
            help="Whether nodes hidden by a tombstone are included",
            flag=Flag(
                "--include-tombstoned", "Also find nodes hidden by a tombstone", is_switch=True
            ),
        ),
    ),
    "vectors": (
        Option(
            "model", "str", none=_NO, form=None,
            help="Embeds the text with this model's configured embedder, and ranks by its vector",
            flag=Flag(
                "--model",
                "Also rank by the embedding of QUERY; as in `repo embed`, or none for words alone",
                "MODEL",
            ),
            is_setting=True,
        ),
        Option(
            "embedder", "Embedder", none=_NO, form=None,
            help=(
                "Embeds the text with this embedder; its name is the model unless `model` is given"
            ),
        ),
        Option(
            "degrade", "bool", False, form=None,
            help="Without the model on this machine, ranks by words alone, with a warning",
            flag=Flag(
                "--degrade", "Without the model on this machine, rank by words alone, and say so",
                is_switch=True,
            ),
        ),
        Option(
            "vector", "tuple[str, Any]", none=_NO, help="A model and a query vector, (d,) float32",
            flag=Flag("--vector", "Also rank by this query vector", "MODEL=FILE.npy"),
        ),
        Option(
            "sparse", "tuple[str, Any, Any] | SparseEncoder", none=_NO,
            help="A vocabulary, distinct tokens in any order, and their weights; or an encoder, "
            "which makes them of the text",
            flag=Flag(
                "--sparse",
                "Also rank by this sparse vector: a file with an object of tokens and weights, or "
                "tei:NAME, which encodes QUERY; or none",
                "VOCABULARY=FILE.json",
            ),
        ),
    ),
    "how a text matches": (
        Option(
            "operator", "str", "or", choices=("or", "and"), form="match.operator",
            help="Whether a node must contain any or all of the text's terms",
            flag=Flag(
                "--operator",
                "Whether a node must contain any or all of QUERY's terms; any if not given",
            ),
            is_setting=True,
        ),
        Option(
            "phrases", "bool", False, form="match.phrases",
            help='Words in "quotes" must occur as a phrase',
            flag=Flag("--phrases", is_switch=True), is_setting=True,
        ),
        Option(
            "fuzzy", "bool | Mapping[str, float]", none="for terms that no document has",
            form="match.fuzzy",
            help="Terms at edit distance 1 also match; two swapped neighbours are one edit",
            flag=Flag(
                "--fuzzy",
                "Also match terms at edit distance 1: of all terms, or of none; by default of "
                "those that no document has",
                is_switch=True, off="--no-fuzzy",
            ),
        ),
        Option(
            "fuzzy.weight", "float", 0.5, low=0.01, high=1.0, form="match.fuzzy.weight",
            help="Factor of the scores of such terms",
        ),
        Option(
            "fuzzy.terms", "int", 20, low=1, high=100, form="match.fuzzy.terms",
            help="Maximal number of such terms per term of the text",
        ),
        Option(
            "fuzzy.length", "int", 4, low=1, high=100, form="match.fuzzy.length",
            help="Minimal length in characters of an expanded term",
        ),
        Option(
            "fuzzy.rare", "int", none="no limit", low=1, form="match.fuzzy.rare",
            help="Terms that occur in this many documents or more are not expanded",
        ),
        Option(
            "related", "bool", False, form="match.related",
            help="Passages also rank by related English words, if any word of the text is enough; "
            "new repositories have it set",
            flag=Flag(
                "--related",
                "Passages also rank by related English words, or not; new repositories have it set",
                is_switch=True, off="--no-related",
            ),
            is_setting=True,
        ),
        Option(
            "k1", "float", BM25_K1, none=DEFAULT, high=1000.0, help="BM25's saturation",
            flag=Flag("--k1", "BM25's saturation; {default} if not given or configured", "NUMBER"),
            is_setting=True,
        ),
        Option(
            "b", "float", BM25_B, none=DEFAULT, high=1.0, help="BM25's length normalisation",
            flag=Flag(
                "--b", "BM25's length normalisation; {default} if not given or configured", "NUMBER"
            ),
            is_setting=True,
        ),
    ),
    "graph": (
        Option(
            "graph", "Mapping[str, object]", none=_NO,
            help="Also ranks nodes that edges connect to the best ones",
        ),
        Option(
            "graph.mode", "str", choices=("ppr", "decay"),
            help="Personalised PageRank, or best paths",
            flag=Flag(
                "--graph",
                "Also rank nodes connected to the best ones: by personalised PageRank, or by "
                "best paths",
            ),
        ),
        Option(
            "graph.depth", "int", **_WALK_STEPS, help="Maximal length of a path; `decay`",
            flag=Flag("--graph-depth", "Maximal length of a path; {default} if not given", "STEPS"),
        ),
        Option(
            "graph.seeds", "int", **_SEEDS, help="Number of best nodes to start from",
            flag=Flag(
                "--graph-seeds", "Number of best nodes to start from; {default} if not given", "N"
            ),
        ),
        Option(
            "graph.direction", "str", "both", choices=_DIRECTIONS,
            help="Direction in which edges are followed",
            flag=Flag(
                "--direction", "Direction in which --graph follows edges; {default} if not given"
            ),
        ),
        Option(
            "graph.etypes", "Iterable[str]", **_ETYPES, help="Only edges of these types",
            flag=Flag(
                "--etype", "Only edges of this type; may be repeated to allow several", is_many=True
            ),
        ),
        Option(
            "graph.weights", "Mapping[str, float]", {}, high=_WEIGHT_MAX,
            help="Factors of the edge weights, by type; default 1.0",
        ),
        Option(
            "graph.max_expand", "int", none="the depth of the question", low=1, high=_NODES_MAX,
            help="Maximal number of nodes that the lane returns",
        ),
        Option("graph.decay", "float", 0.7, high=1.0, help="Factor per step; `decay`"),
        Option(
            "graph.max_per_seed", "int", none=_ANY, low=1, high=_NODES_MAX,
            help="Maximal number of nodes reached from one seed; `decay`",
        ),
        Option(
            "graph.max_frontier", "int", 5000, low=1, high=_NODES_MAX,
            help="Maximal number of nodes expanded per step; `decay`",
        ),
        Option(
            "graph.damping", "float", 0.85, high=0.999,
            help="Probability of continuing the walk at each step; `ppr`",
        ),
        Option(
            "graph.epsilon", "float", 3e-4, high=1.0,
            help="Residual per arc below which a node is not pushed; `ppr`",
        ),
        Option("graph.rounds", "int", 15, **_ROUNDS, help="Maximal number of push rounds; `ppr`"),
    ),
    "community": (
        Option(
            "community", "Mapping[str, object]", none=_NO,
            help="Also ranks nodes in the communities of the best ones",
            flag=Flag(
                "--community",
                "Also rank nodes in the communities of the best ones",
                is_switch=True,
            ),
        ),
        Option("community.etypes", "Iterable[str]", **_ETYPES, help="Only edges of these types"),
        Option(
            "community.weights", "Mapping[str, float]", {}, high=_WEIGHT_MAX,
            help="Factors of the edge weights, by type; default 1.0",
        ),
        Option("community.seeds", "int", **_SEEDS, help="Number of best nodes to start from"),
        Option(
            "community.hops", "int", **_WALK_STEPS,
            help="Distance from the seeds up to which labels are propagated",
        ),
        Option("community.rounds", "int", 8, **_ROUNDS, help="Number of propagation rounds"),
        Option("community.decay", "float", 0.85, high=1.0, help="Factor per step"),
        Option(
            "community.max_per_community", "int", 10, none=_ANY, low=1, high=_NODES_MAX,
            help="Maximal number of nodes per community",
        ),
        Option(
            "community.max_nodes", "int", 5000, low=1, high=_NODES_MAX,
            help="Maximal number of nodes considered",
        ),
    ),
    "mentions": (
        Option(
            "mentions", "bool | Mapping[str, object]", none=DEFAULT,
            help="Also ranks nodes named in the question or in the best nodes; by default, if the "
            "question has a text and scores are fused",
            flag=Flag(
                "--mentions", "Also rank nodes by the names in QUERY and in the best nodes; by "
                "default if scores are fused",
                is_switch=True, off="--no-mentions",
            ),
        ),
        Option(
            "mentions.seeds", "int", 2, low=1, high=100,
            help="Number of best nodes whose names are followed",
        ),
        Option(
            "mentions.max_nodes", "int", 50, low=1, high=1000,
            help="A name in more nodes than this is not followed",
        ),
    ),
    "validity": (
        Option(
            "as_of", "int | datetime", none=_ANY, low=TIME_MIN, high=TIME_MAX,
            form="valid.at",
            help=(
                "Only nodes valid at this time, by their properties valid_from and valid_to; "
                "ages are computed at it"
            ),
            flag=Flag("--as-of", metavar="TIME"),
        ),
        Option(
            "valid_missing", "str", "pass", none=DEFAULT, choices=("pass", "drop"),
            form="valid.missing", help="Whether nodes without these properties pass or are dropped",
        ),
    ),
    "time of records": (
        Option(
            "created_after", **_MOMENT, form=None,
            help="Only nodes that the branch did not have before this time",
            flag=Flag("--created-after", metavar="TIME"),
        ),
        Option(
            "created_before", **_MOMENT, form=None,
            help="Only nodes that the branch had before this time",
            flag=Flag("--created-before", metavar="TIME"),
        ),
        Option(
            "updated_after", **_MOMENT, form=None,
            help="Only nodes that the branch did not have in this version before this time",
            flag=Flag("--updated-after", metavar="TIME"),
        ),
        Option(
            "updated_before", **_MOMENT, form=None,
            help="Only nodes that the branch had in this version before this time",
            flag=Flag("--updated-before", metavar="TIME"),
        ),
        Option(
            "history", "Mapping[str, RootCid | None]", none=_ANY,
            help="Where the branch was at these times, by their names; resolved from them",
        ),
    ),
    "fusion": (
        Option(
            "fusion", "str", none="as configured",
            choices=("rrf", "weighted_rrf", "convex", "score_normalised"), form="fusion.name",
            help="How the scores of the lanes are fused, if not as configured",
            flag=Flag("--fusion"), is_setting=True,
        ),
        Option(
            "rrf_k", "float", none="as configured", high=1e9, form="fusion.k",
            help="The constant k of reciprocal rank fusion", is_setting=True,
            flag=Flag("--rrf-k", metavar="NUMBER"),
        ),
        Option(
            "weights", "Mapping[str, float]", none="as configured", high=_WEIGHT_MAX,
            form="fusion.weights",
            help="Weights of the lanes, for all fusions but `rrf`; default 1.0", is_setting=True,
            flag=Flag(
                "--weight",
                "Weight of a lane, for all fusions but rrf; 1 if not given; may be repeated",
                "LANE=NUMBER", is_many=True,
            ),
        ),
    ),
    "order": (
        Option(
            "rerank", "Reranker", none=_NO,
            help="Rescores the first nodes of the fused order; its scores are kept in the receipt",
            flag=Flag(
                "--rerank",
                "Rescore the best items with this model: an installed cross-encoder, or the "
                "service cohere:NAME, jina:NAME or http:NAME; `none` for no model",
                "NAME",
            ),
        ),
        Option(
            "rerank_text", "str", none="the question's", form="rerank.text",
            help="The query text for the reranker",
        ),
        Option(
            "rerank_depth", "int", 25, none=DEFAULT, low=1, high=1000, form="rerank.depth",
            help="Number of nodes to rerank",
            flag=Flag("--rerank-depth"),
        ),
        Option(
            "rerank_timeout", "float", 8.0, none=DEFAULT, high=3600.0, form=None,
            help="Seconds, more than 0, after which the fused order is used unchanged",
        ),
        Option(
            "mmr", "Mapping[str, float]", none=_NO,
            help="Diversifies the order by maximal marginal relevance",
        ),
        Option(
            "mmr.lambda", "float", 0.7, high=1.0,
            help="Weight of relevance; 1.0 changes nothing",
            flag=Flag(
                "--mmr",
                "Diversify the order by maximal marginal relevance: 1 for relevance alone, "
                "{default} for some diversity",
                "LAMBDA",
            ),
        ),
        Option(
            "mmr.depth", "int", 40, low=1, high=1000,
            help="Number of nodes to reorder; the rest follow unchanged",
        ),
    ),
    "recall": (
        Option(
            "recency", **_SWITCH, form="recall.recency",
            help="Ranks older nodes lower, by their property time and their age at the commit",
            flag=Flag("--recency", is_switch=True),
        ),
        Option(
            "recency.property", "str", "time", form="recall.recency.property",
            help="Property with a node's time; nodes without one are not affected",
        ),
        Option(
            "recency.half_life", "int", 7 * DAY, low=1, high=TIME_MAX,
            form="recall.recency.half_life", help="Half-life in microseconds",
        ),
        Option(
            "recency.weight", "float", 0.2, high=1.0, form="recall.recency.weight",
            help="Fraction of the score that decays",
        ),
        Option(
            "importance", "bool | str", none=_NO, form="recall.importance",
            help="Ranks by the property importance, 0 to 1, or the property of this name",
            flag=Flag(
                "--importance", "Also rank by the property importance, 0 to 1", is_switch=True
            ),
        ),
        Option(
            "feedback", **_SWITCH, form="recall.feedback",
            help="Ranks by recorded votes and marks of not useful nodes",
            flag=Flag(
                "--feedback", "Also rank by feedback; see `repo memory feedback`", is_switch=True
            ),
        ),
        Option(
            "feedback.up", "int", 5, high=100, form="recall.penalties.up",
            help="Percent that each of the first three votes for a node raises it",
        ),
        Option(
            "feedback.down", "int", 10, high=100, form="recall.penalties.down",
            help="Percent that each of the first three votes against it lowers it",
        ),
        Option(
            "feedback.not_useful", "int", 5, high=100, form="recall.penalties.not_useful",
            help="Percent that each of the first five marks as not useful lowers it",
        ),
        Option(
            "feedback.lowest", "int", -30, low=-90, high=0, form="recall.penalties.lowest",
            help="Percent by which it is changed at the least",
        ),
        Option(
            "feedback.highest", "int", 15, high=1000, form="recall.penalties.highest",
            help="Percent by which it is changed at the most",
        ),
        Option(
            "worth", **_SWITCH, form="recall.worth",
            help="Ranks by the recorded outcomes of using a node",
            flag=Flag(
                "--worth", "Also rank by outcomes; see `repo memory feedback`", is_switch=True
            ),
        ),
        Option(
            "worth.half_life", "int", none="they do not age", low=1, high=TIME_MAX,
            form="recall.worth.2", help="Half-life of outcomes, in microseconds",
        ),
        Option(
            "direct", **_SWITCH, form="recall.direct",
            help="Reports whether one item answers the question alone",
            flag=Flag(
                "--direct", "Report whether one item answers the question alone", is_switch=True
            ),
        ),
        Option(
            "direct.overlap", "int", 550, high=1000, form="recall.direct.overlap",
            help="Minimal share of the text's words in the node, in permille",
        ),
        Option(
            "direct.importance", "int", 700, high=1000, form="recall.direct.importance",
            help="Minimal importance, in permille",
        ),
        Option(
            "direct.margin", "int", 150, high=1000, form="recall.direct.margin",
            help="Minimal lead of the best node over the second, in permille",
        ),
        Option(
            "direct.buckets", "Iterable[str]",
            ("conventions", "decisions", "entities", "principles", "runbooks"),
            form="recall.direct.buckets", help="Kinds of nodes that may be a direct answer",
        ),
        Option(
            "direct.entities", "Iterable[str]", (), form="recall.direct.entities",
            help="Entities that the question is about, if known",
        ),
        Option(
            "moment", "int", none=_NO, high=TIME_MAX, form="recall.recency.as_of",
            help=(
                "Reference time for ages; resolved from `as_of`, else from the commit, and with "
                "`worth` from the notes if they are newer"
            ),
        ),
        Option(
            "notes", "CommitCid | str", none=_NO, form="recall.feedback",
            help=(
                "The commit of the notes, or their space, for votes and outcomes; the newest of "
                "the space `memory` if not given"
            ),
        ),
    ),
    "what is returned": (
        Option(
            "adjacency", "int", 0, high=1000, help="Number of edges to show in each direction",
            flag=Flag("--adjacency", metavar="N"), is_setting=True,
        ),
        Option(
            "metadata", "bool", False,
            help="Whether the type, id and properties of a node are shown before its text",
            flag=Flag("--metadata", is_switch=True), is_setting=True,
        ),
        Option(
            "estimator", "str | TokenEstimator", "heuristic",
            help="Token counter: heuristic, tiktoken:ENCODING or tokenizers:FILE",
            flag=Flag("--estimator", metavar="NAME"),
        ),
        Option(
            "token_budget", "int", none=_ANY, help="Maximal number of tokens of all items together",
            flag=Flag(
                "--budget",
                "Maximal number of tokens of the answer, with all that is printed around its items",
                "TOKENS",
            ),
            is_setting=True,
        ),
        Option(
            "frame", "Mapping[str, int]", none=_NO,
            help="What is written around the items, which a token budget then counts too",
        ),
        Option(
            "frame.answer", "int", 0, help="Tokens around all items together, if there are any",
        ),
        Option("frame.item", "int", 0, help="Tokens around each item"),
        Option(
            "frame.part", "int", 0, help="Tokens more around an item that is a part of a document",
        ),
        Option(
            "frame.indent", "int", 0, high=1000,
            help="Spaces before each line of an item but the first",
        ),
        Option(
            "depth", "int", 100, low=1, high=100_000, help="Number of candidates from each lane",
            flag=Flag("--depth", "Number of candidates from each lane; {default} if not given"),
            is_setting=True,
        ),
        Option(
            "limit", "int", 10, none="all", help="Maximal number of items", flag=Flag("--limit"),
            is_setting=True,
        ),
        Option(
            "overflow", "str", none="`skip` for items, `cut` for packs",
            choices=("cut", "skip", "stop", "excerpt"),
            help="Whether what is over a token budget is cut, is skipped, ends the answer, "
            "or becomes an excerpt around the best match",
            flag=Flag(
                "--overflow",
                "Whether what is over the budget is cut, is skipped, ends the answer, or becomes "
                "an excerpt around the best match; an excerpt if not given",
            ),
        ),
        Option(
            "dedupe", "str", none="`none` for items, `text` for packs",
            choices=("text", "source", "section", "near", "property", "none"),
            form="dedupe.by",
            help="What an earlier item or pack must share so that a later one is left out",
            flag=Flag(
                "--dedupe",
                "What an earlier one must share so that a later one is left out; near the same "
                "text if not given",
            ),
        ),
        Option(
            "dedupe_percent", "int", 80, low=1, high=100, form="dedupe.percent",
            help="With `near`, the share of runs of three words that two have in common",
            flag=Flag(
                "--dedupe-percent", "With --dedupe near, how much two have in common", "N"
            ),
        ),
        Option(
            "dedupe_property", "str", none=_NO, form="dedupe.property",
            help="With `property`, the property of the node or its document that is compared",
            flag=Flag(
                "--dedupe-property", "With --dedupe property, the property that is compared", "NAME"
            ),
        ),
        Option(
            "headings", "str", "keep", choices=("keep", "drop"),
            help="Whether the heading of a document or section without text may be an item or a "
            "pack; kept in packs with `edges`",
            flag=Flag(
                "--headings",
                "Whether the heading of a document or section without text is shown; it is not if "
                "not given",
            ),
        ),
        Option(
            "coverage_min", "int", none=_NO, high=1000,
            help="Warns if the items together have fewer of the text's terms, in permille",
            flag=Flag("--coverage-min", metavar="PERMILLE"),
        ),
        Option(
            "strict", "bool", False, form=None,
            help="Treats warnings as errors; no receipt is written then",
        ),
        Option(
            "packs", "Mapping[str, object]", none=_NO,
            help="Returns packs of nodes; set by `packs` from its own options",
        ),
    ),
    "records": (
        Option(
            "records", "Mapping[str, object]", none=_NO,
            help="Returns records and their relations; set by a graph memory from its own options",
        ),
        Option(
            "records.as_of", "int", low=TIME_MIN, high=TIME_MAX,
            help="Reference time for salience and for the ages of outcomes",
        ),
        Option(
            "records.undated", "int", none="`as_of`", low=TIME_MIN, high=TIME_MAX,
            help="The time assumed for records without one",
        ),
        Option(
            "records.notes", "CommitCid", none=_NO, help="The commit of the notes to use"
        ),
        Option(
            "records.min_salience", "float", 0.0, high=1.0,
            help="Minimal salience of returned records",
        ),
        Option(
            "records.root_limit", "int", 10, high=_RECORDS_MAX,
            help="Maximal number of ranked records"
        ),
        Option(
            "records.limit", "int", 25, high=_RECORDS_MAX,
            help="Maximal number of records, including the ranked ones",
        ),
        Option(
            "records.edge_limit", "int", 100, high=_RECORDS_MAX, help="Maximal number of relations",
        ),
        Option("records.hops", "int", 1, high=16, help="Maximal distance from a ranked record"),
        Option(
            "records.direction", "str", "both", choices=_DIRECTIONS,
            help="Direction in which relations are followed",
        ),
        Option(
            "records.top_min", "float", 0.6, high=1.0,
            help="Threshold for the best selector score; below it more evidence is needed",
        ),
        Option(
            "records.gap_min", "float", 0.0, high=1.0,
            help="Threshold for the lead over the second; below it more evidence is needed",
        ),
        Option(
            "records.layered", "bool", False,
            help="Whether records come in the order of their layers, then by score",
        ),
    ),
    "access": (
        Option(
            "viewer", "Viewer", none=_NO,
            help="The caller's level and scopes; required if the root has a trust policy",
        ),
    ),
    "packs": (
        Option(
            "expand", "str", "neighbors", choices=("neighbors", "section", "edges"),
            form="packs.expand", help="Context to include around a hit",
            flag=Flag(
                "--expand",
                "Context to include around a hit; neighbouring passages if not given",
            ),
        ),
        Option(
            "per_hit_neighbors", "int", 4, high=1000, form="packs.per_hit_neighbors",
            help="Most passages of its section on each side of a hit; not with `edges`",
            flag=Flag(
                "--around", "Most passages on each side of a hit; {default} if not given", "N"
            ),
        ),
        Option(
            "window_chars", "int", 800, none=_ANY, high=10_000_000, form="packs.window_chars",
            help="Passages around a hit are added up to this many characters; not with `edges`",
            flag=Flag(
                "--window-chars", "Add passages around a hit up to this many characters", "N"
            ),
        ),
        Option(
            "merge", "str", "absorb", choices=("absorb", "coalesce"), form="packs.merge",
            help="Whether overlapping packs stay small or are joined into one",
            flag=Flag("--merge"),
        ),
        Option(
            "rank", "str", "score", choices=("score", "none", "hybrid"), form="packs.rank",
            help="Order of packs: by score, in document order, or 0.7 lexical and 0.3 vector score",
            flag=Flag("--rank"),
        ),
        Option(
            "spans", "bool", False,
            form="packs.spans", help="Reports the character ranges that match",
            flag=Flag(
                "--spans", "Report in --json the character ranges that match", is_switch=True
            ),
        ),
        Option(
            "nodes_max", "int", none=_ANY, low=1, high=100_000, form="packs.nodes_max",
            help="Maximal number of nodes per pack",
            flag=Flag("--nodes-max", metavar="N"),
        ),
        Option(
            "etypes", "Iterable[str]", **_ETYPES, form="packs.edges.etypes",
            help="With `edges`, only edges of these types",
            flag=Flag(
                "--walk-etype",
                "With --expand edges, only edges of this type; may be repeated",
                is_many=True,
            ),
        ),
        Option(
            "hops", "int", 1, high=8,
            form="packs.edges.hops", help="With `edges`, the number of steps",
            flag=Flag("--walk-hops", "With --expand edges, the number of steps", "N"),
        ),
        Option(
            "fanout", "int", 8, low=1, high=1000, form="packs.edges.fanout",
            help="With `edges`, the maximal number of nodes from each node",
            flag=Flag(
                "--walk-fanout",
                "With --expand edges, the maximal number of nodes from each node",
                "N",
            ),
        ),
        Option(
            "direction", "str", "both", choices=_DIRECTIONS, form="packs.edges.direction",
            help="With `edges`, the direction",
            flag=Flag("--walk-direction", "With --expand edges, the direction"),
        ),
        Option(
            "sources", "Mapping[str, object]", none=_NO, form="packs.sources",
            help="Shares the budget between documents, facts and a conversation",
        ),
    ),
    "sources of a context": (
        Option(
            "sources.thread", "str", none="no conversation", form="packs.sources.thread",
            help="The conversation",
        ),
        Option(
            "sources.recent", "int", 4, high=1000, form="packs.sources.recent",
            help="Its last messages that are there whatever the question",
        ),
        Option(
            "sources.user", "str", none="anybody", form="packs.sources.user",
            help="Only facts of this user, and of nobody in particular",
        ),
        Option(
            "sources.agent", "str", none="any", form="packs.sources.agent",
            help="Only facts of this agent, and of none",
        ),
        Option(
            "sources.session", "str", none="any", form="packs.sources.session",
            help="Only facts of this session, and of none",
        ),
        Option(
            "sources.documents", "int", 4, high=1000, form="packs.sources.documents",
            help="The share of documents in the budget, 0 for none of them",
        ),
        Option(
            "sources.facts", "int", 2, high=1000, form="packs.sources.facts",
            help="The share of facts",
        ),
        Option(
            "sources.conversation", "int", 2, high=1000, form="packs.sources.conversation",
            help="The share of the conversation",
        ),
        Option(
            "sources.as_of", "int", low=TIME_MIN, high=TIME_MAX, form="packs.sources.as_of",
            help="When facts are valid, and up to when messages count",
        ),
    ),
}  # fmt: skip
"""All options, grouped by subject."""
OPTIONS = {option.name: option for group in GROUPS.values() for option in group}
"""All options by name."""
CUT, EXCERPT, SKIP, STOP = "cut", "excerpt", "skip", "stop"
"""Values of `overflow`."""
DROP = "drop"
"""A value of `headings`."""
OF_BOTH = ("overflow", "dedupe", "dedupe_percent", "dedupe_property", "headings")
"""The options about which items are in an answer, which packs have for themselves."""
PACKS_ALONE = {option.name: option for option in GROUPS["packs"]}
"""The options that only packs have."""
OF_PACKS = PACKS_ALONE | {name: OPTIONS[name] for name in OF_BOTH}
"""The options of the mapping `packs`; no dots, because `Revision.packs` takes them directly."""
OF_QUERY = {
    name: option
    for name, option in OPTIONS.items()
    if option.form is not None and "." not in name and name not in PACKS_ALONE
}
"""The options that `resolve` takes; the others are translated into these before."""
OF_ITEMS = ("adjacency", "direct", "metadata")
"""The options about what an item shows, which packs do not; a reranker reads two of them."""
TIMES_OF_RECORDS = ("created_after", "created_before", "updated_after", "updated_before")
"""The options that a repository resolves to `history`, ascending."""
OF_CONVERSATIONS = {
    option.name: option
    for option in (
        Option(
            "thread_window", "int", none="all", low=1,
            help="Number of newest messages of each thread that conversations and contexts search",
        ),
        Option(
            "compact_over", "int", none="never", low=1,
            help="Tokens above which the beginning of a thread is summarised",
        ),
        Option(
            "compact_recent", "int", 10, low=0,
            help="Messages and units at the end of a thread that are never summarised",
        ),
    )
}  # fmt: skip
"""What a root's configuration says of conversations; no question has an option for it."""
SETTINGS = {
    **{name: option for name, option in OPTIONS.items() if option.is_setting},
    **OF_CONVERSATIONS,
}
"""What a root's configuration may give: defaults of options, and what it says of conversations; see
`settings.py`."""
OF_RECALL = frozenset(option.name for option in GROUPS["recall"]) & OF_QUERY.keys()
_MEMBERS: dict[str, tuple[Option, ...]] = {}
for _name, _option in OPTIONS.items():
    _mapping = _name.rpartition(".")[0]
    if _mapping:
        _MEMBERS[_mapping] = (*_MEMBERS.get(_mapping, ()), _option)


def default(name: str) -> Any:
    """Returns the default of an option."""
    return OPTIONS[name].default


def members(name: str) -> tuple[Option, ...]:
    """Returns the options inside a mapping, in order."""
    return _MEMBERS[name]


def defaults(name: str) -> dict[str, Any]:
    """Returns the defaults of the options inside a mapping, by key."""
    return {option.key: option.default for option in members(name)}
