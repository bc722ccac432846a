"""A browser without a screen: it begins a session as the script does, and reads pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse

from tests.pages.reading import Tag, check_inert, read

import ibidem
from ibidem.serve.explorer.explorer import Explorer


class Browser:
    """Asks for pages of one explorer."""

    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer
        self.cookie = ""

    def code(self) -> str:
        """A new code for one session."""
        return self.explorer.address().partition("#")[2]

    def send(self, method: str, path: str, **headers: str) -> tuple[HTTPResponse, str]:
        """One request, with the headers given and no others."""
        connection = HTTPConnection("127.0.0.1", self.explorer.port, timeout=30)
        connection.request(
            method, path, headers={k.replace("_", "-"): v for k, v in headers.items()}
        )
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response, text

    def begin(self) -> Browser:
        response, _ = self.send("POST", "/session", authorization=f"Bearer {self.code()}")
        assert response.status == 204
        self.cookie = (response.headers["set-cookie"] or "").partition(";")[0]
        return self

    def page(self, path: str, status: int = 200) -> Tag:
        """A page of the session, checked to be inert."""
        response, text = self.send("GET", path, cookie=self.cookie, sec_fetch_site="same-origin")
        assert response.status == status, text[-2000:]
        policy = response.headers["content-security-policy"] or ""
        assert "unsafe" not in policy
        assert policy.startswith("default-src 'none'")
        found = read(text)
        check_inert(found)
        assert len(found.all("h1")) == 1
        assert found.all("title")
        for table in found.all("table"):
            assert table.all("caption")
        for field in found.all("input") + found.all("select"):
            assert field.attributes["type"] == "hidden" or any(
                field in label.walk() for label in found.all("label")
            )
        return found


@contextmanager
def browsing(repo: ibidem.Repository | ibidem.ViewerRepository) -> Iterator[Browser]:
    with Explorer(repo) as explorer:
        explorer.start()
        yield Browser(explorer).begin()


def links(page: Tag) -> list[str]:
    return [a.attributes["href"] or "" for a in page.all("a")]
