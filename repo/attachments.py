"""What a transaction attaches to nodes: dense vectors of models, sparse ones of vocabularies.

The half of `Transaction` that knows numbers; that every vector has its node is checked at commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ibidem.objects.cid import Cid
from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError
from ibidem.objects.ids import NodeId
from ibidem.objects.vector import Sparse, Vector
from ibidem.repo.checks import check_digest, check_id, check_text
from ibidem.repo.draft import Draft
from ibidem.repo.edits import Family

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ibidem.objects.config import Model
    from ibidem.retrieve.access.policy import TrustPolicy

VECTOR_DIM_MAX = 4096
_DTYPES = {"e": "f16", "b": "i8"}
"""By numpy's character for a type."""


class Attachments:
    """Stages vectors into a draft while the transaction is open."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._is_open = True

    def set_vector(
        self,
        id: NodeId,  # noqa: A002
        *,
        model: str,
        vector: ArrayLike,
        of: bytes | None = None,
    ) -> None:
        """Stages the vector of a node under a model; the first use of a model registers it.

        Args:
            vector: (d,) finite numbers, 1 <= d <= 4096; float16 and int8 are kept, else float32.
            of: digest of the text it was made from; by default of the node's text at commit.

        Raises:
            InvalidInputError: the vector is of another form; kind `dimension-mismatch`: the model
                has another dimension.
        """
        self._check_open()
        check_id("id", id, NodeId)
        check_text("model", model)
        dtype = _DTYPES.get(getattr(getattr(vector, "dtype", None), "char", ""), "f32")
        value = Vector.from_array(vector, of=check_digest(of), dtype=dtype)
        if value.dim > VECTOR_DIM_MAX:
            raise InvalidInputError(
                f"vector: got {value.dim} dimensions, expected at most {VECTOR_DIM_MAX}",
                kind=ErrorKind.DIMENSION_MISMATCH,
            )
        self._draft.set_vector(model, id.raw, value, of)

    def register_model(self, name: str, model: Model) -> None:
        """Stages what the vectors of a model have in common; recorded with its first vector.

        Raises:
            InvalidInputError: kind `model-mismatch`: it is registered, and otherwise.
        """
        self._check_open()
        self._draft.register_model(check_text("model", name), model)

    def set_trust_policy(self, policy: TrustPolicy | None) -> None:
        """Stages the trust policy of the graph, None for none: from this commit on nobody is told
        of a node without saying who asks.

        Raises:
            InvalidInputError: it is none; or a node that was staged before has no such labels.
        """
        from ibidem.retrieve.access.policy import TrustPolicy

        self._check_open()
        if policy is not None and type(policy) is not TrustPolicy:
            raise InvalidInputError(f"policy: got {policy!r:.80}, expected a TrustPolicy")
        self._draft.set_trust(policy)

    def set_sparse(
        self,
        id: NodeId,  # noqa: A002
        *,
        vocab: str,
        indices: ArrayLike,
        weights: ArrayLike,
        of: bytes | None = None,
    ) -> None:
        """Stages the sparse vector of a node under a vocabulary.

        Args:
            indices: (n,) token ids below 2^32, each once. weights: (n,) finite numbers.
            of: as in `set_vector`.
        """
        self._check_open()
        check_id("id", id, NodeId)
        check_text("vocab", vocab)
        value = Sparse.from_arrays(indices, weights, of=check_digest(of))
        self._draft.set_sparse(vocab, id.raw, value, of)

    def remove_vector(self, id: NodeId, *, model: str) -> None:  # noqa: A002
        """Stages the removal of a vector; raises `NotFoundError` when there is none."""
        self._remove_vector(("vectors", check_text("model", model)), id)

    def remove_sparse(self, id: NodeId, *, vocab: str) -> None:  # noqa: A002
        """Stages the removal of a sparse vector; raises `NotFoundError` when there is none."""
        self._remove_vector(("sparse", check_text("vocab", vocab)), id)

    def _cid(self, family: Family, id: Any, cls: type[Any]) -> Cid | None:  # noqa: A002
        self._check_open()
        return self._draft.cid(family, check_id("id", id, cls).raw)

    def _remove_vector(self, family: Family, id: NodeId) -> None:  # noqa: A002
        self._check_open()
        if not self._draft.has_vector(family, check_id("id", id, NodeId).raw):
            raise NotFoundError(f"node {id} has nothing under {family[1]!r} in {family[0]}")
        self._draft.remove(family, id.raw)

    def _check_open(self) -> None:
        if not self._is_open:
            raise InvalidInputError("transaction: it has ended", hint="begin another one")
