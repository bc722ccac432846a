"""Who gets a page: this machine's browser, with the token, asked by no other page."""

import re

import pytest

import ibidem
from ibidem.serve.explorer.explorer import Explorer
from ibidem.serve.explorer.routes import ROUTES

from .browsing import Browser, browsing


@pytest.mark.parametrize("page", ROUTES, ids=lambda page: page.name)
def test_no_page_without_a_session(browser: Browser, page):
    response, text = browser.send("GET", re.sub(r"\{.*?\}", "x", page.path))
    assert response.status == 401
    assert "payment" not in text


@pytest.mark.parametrize("token", ["", "x", "Bearer", "é" * 40])
def test_no_session_without_a_code(browser: Browser, token: str):
    sent = f"Bearer {token}".encode().decode("latin-1")
    response, _ = browser.send("POST", "/session", authorization=sent)
    assert response.status == 401
    assert "set-cookie" not in response.headers


def test_the_cookie_is_of_this_origin_and_hidden_from_scripts(browser: Browser):
    code = browser.code()
    response, _ = browser.send("POST", "/session", authorization=f"Bearer {code}")
    cookie = response.headers["set-cookie"] or ""
    assert cookie.startswith(f"ibidem-{browser.explorer.port}=")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert code not in cookie


def test_a_code_begins_one_session_and_ends_it_if_it_is_used_again(repo: ibidem.Repository):
    with Explorer(repo).start() as explorer:
        browser, other = Browser(explorer).begin(), Browser(explorer).begin()
        code = browser.code()
        response, _ = browser.send("POST", "/session", authorization=f"Bearer {code}")
        taken = (response.headers["set-cookie"] or "").partition(";")[0]
        assert browser.send("GET", "/ask", cookie=taken)[0].status == 200
        for _ in range(2):
            response, _ = browser.send("POST", "/session", authorization=f"Bearer {code}")
            assert response.status == 401
            assert browser.send("GET", "/ask", cookie=taken)[0].status == 401
        for one in (browser, other):
            one.page("/ask")


def test_another_host_gets_a_hint_that_helps(browser: Browser):
    _, text = browser.send("GET", "/ask", host="evil.example")
    assert "open the address that it prints" in text
    assert "allow-host" not in text


@pytest.mark.parametrize(
    "headers",
    [
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"host": "evil.example"},
    ],
)
@pytest.mark.parametrize("path", ["/", "/ask", "/style.css"])
def test_another_page_gets_nothing(browser: Browser, headers: dict[str, str], path: str):
    response, text = browser.send("GET", path, cookie=browser.cookie, **headers)
    assert response.status == 400
    assert "Question" not in text


def test_the_code_is_in_the_fragment_only(browser: Browser):
    address, _, code = browser.explorer.address("how often").partition("#")
    assert address == f"http://127.0.0.1:{browser.explorer.port}/?text=how+often"
    assert len(code) >= 43
    assert browser.explorer.host == "127.0.0.1"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_changed(browser: Browser, method: str):
    response, _ = browser.send(method, "/ask", cookie=browser.cookie)
    assert response.status == 405


def test_the_first_page_has_the_script_and_nothing_else(browser: Browser):
    response, text = browser.send("GET", "/")
    assert response.status == 200
    assert text.count("<script") == 1
    assert "https:" not in text
    script, code = browser.send("GET", "/session.js")
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    assert "eval" not in code
    assert "innerHTML" not in code


def test_an_unknown_path_is_a_page_too(browser: Browser):
    assert "There is no such page" in browser.page("/nothing", 404).words


def test_a_field_that_is_given_twice_is_an_error(browser: Browser):
    assert "text: got it twice" in browser.page("/ask?text=a&text=b", 400).words


def test_the_navigation_names_the_page(browser: Browser):
    page = browser.page("/ask")
    (current,) = [a for a in page.one("nav").all("a") if a.attributes.get("aria-current")]
    assert current.words == "Ask"


def test_a_port_in_use_is_a_typed_error(browser: Browser, repo: ibidem.Repository):
    with pytest.raises(ibidem.RemoteError, match="cannot listen"):
        Explorer(repo, port=browser.explorer.port)


def test_two_explorers_have_their_own_sessions(browser: Browser, repo: ibidem.Repository):
    with browsing(repo) as other:
        response, _ = other.send("GET", "/ask", cookie=browser.cookie)
        assert response.status == 401
