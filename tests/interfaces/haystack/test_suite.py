"""Haystack's own tests of a document store. What its suite asks a store to override is overridden:

- `test_write_documents`, which has no body, because stores differ in what they do by default;
- `assert_documents_are_equal`, because the order of documents means nothing and embeddings are
  float32 here.
"""

import warnings
from dataclasses import replace

import pytest

pytest.importorskip("haystack")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from haystack import Document
    from haystack.document_stores.errors import DuplicateDocumentError
    from haystack.testing.document_store import (
        CountDocumentsByFilterTest,
        DocumentStoreBaseExtendedTests,
    )
    from haystack.testing.document_store_async import (
        CountDocumentsAsyncTest,
        CountDocumentsByFilterAsyncTest,
        DeleteAllAsyncTest,
        DeleteByFilterAsyncTest,
        DeleteDocumentsAsyncTest,
        FilterDocumentsAsyncTest,
        UpdateByFilterAsyncTest,
        WriteDocumentsAsyncTest,
    )

import ibidem
from ibidem.adapters.haystack import IbidemDocumentStore

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def assert_documents_are_equal(received: list[Document], expected: list[Document]):
    pairs = [sorted(documents, key=lambda one: one.id) for documents in (received, expected)]
    assert len(pairs[0]) == len(pairs[1])
    for one, other in zip(*pairs, strict=True):
        assert replace(one, embedding=None) == replace(other, embedding=None)
        if other.embedding is None:
            assert one.embedding is None
        else:
            assert one.embedding == pytest.approx(other.embedding, rel=1e-6)


class TestDocumentStore(DocumentStoreBaseExtendedTests, CountDocumentsByFilterTest):
    @pytest.fixture
    def document_store(self):
        with ibidem.init("memory:") as repo:
            yield IbidemDocumentStore(repo)

    @staticmethod
    def assert_documents_are_equal(received: list[Document], expected: list[Document]):
        assert_documents_are_equal(received, expected)

    def test_write_documents(self, document_store):
        documents = [Document(content="test doc 1"), Document(content="test doc 2")]
        assert document_store.write_documents(documents) == 2
        self.assert_documents_are_equal(document_store.filter_documents(), documents)
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents(documents)


class TestAsynchronous(
    CountDocumentsAsyncTest,
    CountDocumentsByFilterAsyncTest,
    DeleteAllAsyncTest,
    DeleteByFilterAsyncTest,
    DeleteDocumentsAsyncTest,
    FilterDocumentsAsyncTest,
    UpdateByFilterAsyncTest,
    WriteDocumentsAsyncTest,
):
    @pytest.fixture
    def document_store(self):
        with ibidem.init("memory:") as repo:
            yield IbidemDocumentStore(repo)

    @staticmethod
    def assert_documents_are_equal(received: list[Document], expected: list[Document]):
        assert_documents_are_equal(received, expected)

    async def test_write_documents_async(self, document_store):
        documents = [Document(content="test doc 1"), Document(content="test doc 2")]
        assert await document_store.write_documents_async(documents) == 2
        found = await document_store.filter_documents_async()
        self.assert_documents_are_equal(found, documents)
