"""Every number of the lexical lane that can change without changing an answer.

They trade one kind of work for another: when to stop reading posting lists, what to cache, how
much to do in one numpy call. Any values give the same documents and the same scores, which the
tests check by asking with extreme ones. Numbers that a proof needs stand beside that proof.

Each says its unit and what it trades. A measurement is named where the history of the code records
one; where none is named, none is recorded. `bench/lexical.py` is the place to make one.
"""

from __future__ import annotations

from ibidem.objects.record import record


@record
class Tuning:
    """How the documents of one question are found: which strategy, and when to check its bounds."""

    # Which strategy answers a query.

    small_universe_row_cost: int = 16
    """Postings read in the time in which one row is scored for one term. A universe whose rows cost
    less than the posting lists of the query is scored row by row."""
    exhaustive_postings_max: int = 98_304
    """Postings of a query up to which exhaustive scoring is tried. Beyond it the accumulation costs
    more than pruning by impacts."""
    many_terms_min: int = 256
    """Terms of a query from which all postings are added up without bounds: with thousands of terms
    each bound says little, and repeated checks of the threshold took seconds."""

    # Exhaustive scoring.

    first_threshold_shallow: float = 1.05
    first_threshold_deep: float = 0.8
    """First guess of the depth-th best score, as a multiple of the largest contribution of one
    term. Too high costs one more round, too low reads more postings than needed."""
    shallow_depth_max: int = 32
    """Results up to which the first of the two guesses is taken."""
    exception_postings_min: int = 64
    """Postings below which a term has no list of exceptions: it is cheap to read whole."""
    exception_share: int = 32
    """About one posting in this many is an exception to the bound of its term."""
    exception_sample: int = 1_024
    """Values of a long posting list, or up to half as many, from which that bound is taken: sorting
    out 10,000 took 8 microseconds."""

    # MaxScore over impacts.

    check_postings_min: int = 20_000
    """Unread postings for which computing the threshold pays; with fewer left they are simply
    read."""
    column_share: int = 4
    """Whole columns are added once one row in this many has been touched: a dense pass over all
    rows is then cheaper than scattered additions."""
    likely_threshold: float = 0.5
    """Expected depth-th best score as a share of the largest term bound, which decides how many
    terms to read before the first check. Came with a change that saved 10 to 25 percent of a query
    over 200,000 texts (`bench/lexical.py`)."""
    refine_factor: int = 4
    refine_rows: int = 64
    """Candidates are refined by further terms while they number more than factor x depth + rows;
    with fewer, exact scoring is as cheap."""
    lookup_cost: int = 16
    """Postings read in the time of one binary search of a row in a posting list."""
    reset_share: int = 12
    """Accumulators are cleared as a whole once one slot in this many was touched."""


TUNING = Tuning()
"""What was measured to be best."""

# BM25 arithmetic.

LENGTH_TABLE_MAX = 1 << 20
"""Tokens of the longest document up to which length norms come from a table by length (8 bytes an
entry)."""
SCORED_CELLS_MAX = 1 << 20
"""Terms x rows scored in one numpy call (8 bytes a cell): bounds temporary memory."""

# The view and its caches.

CACHED_WEIGHTS_MAX = 4
"""Weights for which a term keeps its contributions. More than one occurs only where queries repeat
a term."""
RATIO_SPREAD_MAX = 1.25
"""Largest quotient of the upper and lower ratio bound with which the stored impacts of a segment
are used; a segment beyond it gets new impacts for the query's parameters."""
RATIO_BOUNDS_CACHED_MAX = 64
"""Pairs (k1, b) for which ratio bounds are kept."""
TERM_CACHE_BYTES, TERM_CACHE_TERMS = 48_000_000, 16_384
"""Bytes and terms that a view caches before it drops the cache."""
POSTING_BYTES = 6
"""Bytes of a cached posting: slot (4), frequency (1, rarely more), impact (1)."""
ABSENT_LIST_SHARE = 16
"""Rows of a segment outside the view are kept as a list, and not only as a mask, where they are
fewer than one in this many."""
LENGTHS_CHUNK_ROWS = 1 << 14
"""Rows of which lengths are added up in one go: 64 kB, which stays in a near cache."""
ACCUMULATORS_KEPT = 2
"""Accumulators kept by a view that hides rows, and arrays of each type kept by a pool."""

# The shared columns of all segments.

SLACK_ROWS = 8_192
"""Rows of unused capacity that any snapshot may have: the tails of some commits."""
SLACK_SHARE = 4
"""And one row in this many of its own, so at most a fifth of the capacity is unused for long."""
