"""LangChain's own tests, unaltered: a vector store with its retriever, and a retriever."""

import warnings

import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("langchain_tests")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from langchain_tests.integration_tests import (
        RetrieversIntegrationTests,
        VectorStoreIntegrationTests,
    )

import ibidem
from ibidem.adapters.langchain import IbidemRetriever, IbidemVectorStore

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class TestVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self):
        with ibidem.init("memory:") as repo:
            yield IbidemVectorStore(repo, self.get_embeddings())


class TestRetriever(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self):
        return IbidemRetriever

    @property
    def retriever_constructor_params(self):
        repo = ibidem.init("memory:")
        for number in range(5):
            repo.add(f"the gate of court {number} is green")
        return {"repository": repo}

    @property
    def retriever_query_example(self):
        return "green gate"
