"""Facts that rules find in what a user says of himself, in English and German, without a model.

A rule is a phrase at the beginning of a clause, such as "I live in", and what has to follow it,
such as a name. Rules are made to be right rather than complete: a question, a condition, a
quotation, or a word between the parts of a phrase is no fact. What they find are proposals all the
same.

    name          my name is Ada, call me Ada          ich heiße Ada, mein Name ist Ada
    lives in      I live in Graz, I moved to Graz      ich wohne in Graz
    comes from    I am from Graz                       ich komme aus Graz
    works at      I work for Acme                      ich arbeite bei Acme
    works as      I work as a nurse                    ich arbeite als Koch
    prefers       I prefer tea over coffee             ich mag Tee lieber als Kaffee
    favourite …   my favourite colour is red           meine Lieblingsfarbe ist Rot
    is allergic to  I am allergic to nuts              ich bin allergisch gegen Nüsse
    … is called   my wife is called Eva                meine Frau heißt Eva
    birthday, e-mail, phone, time zone, pronouns       Geburtstag, E-Mail, Telefonnummer
    asks to remember   remember that the gate is red   merk dir, dass das Tor rot ist
    is due        the report is due on 3 May           der Bericht ist am 3. Mai fällig

Spec: memory 12.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ibidem.memory.conversation.units import is_question
from ibidem.memory.graph.propose import Triple
from ibidem.objects.record import record
from ibidem.retrieve.records.record import term_of

if TYPE_CHECKING:
    from ibidem.memory.conversation.message import Stored

USER = "user"
"""The subject of facts about a user without a name."""
CONFIDENCE = 0.75
"""Of every fact that a rule finds."""
_WORDS_MAX, _SENTENCE_MAX = 12, 40
"""Of an object, and of a sentence to remember."""
_CHARS_MAX = 1000
"""Of a sentence: a longer one is none that a person writes."""

_CAPITAL = r"[^\W\d_a-zß-öø-ÿ][\w'\u2019.-]*"
_NAME = (
    rf"{_CAPITAL}(?:\s+(?:(?:van|von|de|der|den|del|da|di|la|le|of|the|upon|am|an)\s+)*"
    rf"{_CAPITAL}){{0,3}}"
)
_MONTHS = (
    "january|february|march|april|may|june|july|august|september|october|november|december|"
    "januar|februar|märz|mai|juni|juli|oktober|dezember"
)
_DATE = (
    r"(?P<object>\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./](?:\d{4})?"
    rf"|(?:the\s+)?\d{{1,2}}(?:st|nd|rd|th|\.)?\s+(?:of\s+)?(?:{_MONTHS})(?:,?\s+\d{{4}})?"
    rf"|(?:{_MONTHS})\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})?)"
)
_MAIL, _PHONE = r"(?P<object>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)", r"(?P<object>\+?\d[\d ()/-]{4,}\d)"
_ANY = r"(?P<object>.+)"
_NAMED = (
    rf"(?P<object>(?-i:{_NAME}))(?=\W*$|[,;:(]|"
    r"\s+(?:and|but|und|aber|now|jetzt|at|near|by|as|als|in|last|this|because|since|weil)\b)"
)
_GONE = rf"(?P<object>(?-i:{_NAME})) (?:gezogen|umgezogen)"
_KIN = (
    "wife|husband|partner|girlfriend|boyfriend|son|daughter|brother|sister|mother|father|dog|cat|"
    "boss|manager|doctor|dentist|company|team"
)
_KIN_DE = {
    "frau": "wife",
    "mann": "husband",
    "sohn": "son",
    "tochter": "daughter",
    "bruder": "brother",
    "schwester": "sister",
    "mutter": "mother",
    "vater": "father",
    "hund": "dog",
    "katze": "cat",
    "chef": "boss",
    "chefin": "boss",
    "firma": "company",
    "partner": "partner",
    "partnerin": "partner",
    "freund": "boyfriend",
    "freundin": "girlfriend",
}
_REMEMBER = "asks to remember"


@record
class _Rule:
    """A phrase and what it says."""

    name: str
    pattern: re.Pattern[str]
    predicate: str
    """Of the fact; `{what}` stands for the group of that name."""


def _rule(name: str, predicate: str, then: str, *phrases: str) -> _Rule:
    """Returns the rule for some phrases, and what has to follow them."""
    return _Rule(name, re.compile(f"(?:{'|'.join(phrases)}) {then}", re.IGNORECASE), predicate)


_AM = r"i(?: am|['\u2019]m)"
_STILL = "(?: now| currently)?"
_RULES = (
    _rule(
        "en.name", "name", _NAMED, "my (?:full )?name is", f"{_AM} called", "(?:please )?call me"
    ),
    _rule("en.lives-in", "lives in", _NAMED, f"i{_STILL} live in", f"{_AM} based in"),
    _rule("en.moved-to", "lives in", _NAMED, "i(?: have)?(?: just| recently)? moved to"),
    _rule("en.comes-from", "comes from", _NAMED, f"(?:{_AM}|i come)(?: originally)? from"),
    _rule("en.works-at", "works at", _NAMED, f"i{_STILL} work (?:at|for)(?: the)?"),
    _rule("en.works-as", "works as", _ANY, f"i{_STILL} work as an?"),
    _rule("en.prefers", "prefers", _ANY, "i(?: really| generally| usually| much)? prefer"),
    _rule(
        "en.favourite",
        "favourite {what}",
        _ANY,
        r"my (?:all-time )?favou?rite (?P<what>\w+(?: \w+)?) (?:is|are)",
    ),
    _rule("en.allergic", "is allergic to", _ANY, f"{_AM}(?: very| severely| highly)? allergic to"),
    _rule(
        "en.called",
        "{what} is called",
        _NAMED,
        rf"my (?P<what>{_KIN})(?: is (?:called|named)|['\u2019]s name is|['\u2019]s called)",
    ),
    _rule("en.birthday", "birthday", _DATE, "my birthday is(?: on)?", "i was born on"),
    _rule("en.email", "e-mail", _MAIL, "my e-?mail(?: address)? is"),
    _rule("en.phone", "phone", _PHONE, "my (?:phone|mobile|telephone)(?: number)? is"),
    _rule(
        "en.own",
        "{what}",
        _ANY,
        "my (?P<what>time ?zone|pronouns|native language|mother tongue) (?:is|are)",
    ),
    _rule(
        "en.remember",
        _REMEMBER,
        _ANY,
        r"(?:please )?(?:remember|do not forget|don['\u2019]t forget|note|keep in mind) that",
    ),
    _rule(
        "en.due",
        "is due",
        _DATE,
        r"(?:the|our|my) (?P<subject>\w+(?: \w+){0,3}) is due(?: on| by)?",
    ),
    _rule(
        "de.name",
        "name",
        _NAMED,
        "mein (?:voller )?name ist",
        "ich heiße",
        "(?:bitte )?nenn(?:e|t)? mich",
    ),
    _rule("de.lives-in", "lives in", _NAMED, "ich (?:wohne|lebe)(?: jetzt| derzeit)? in"),
    _rule("de.moved-to", "lives in", _GONE, "ich bin(?: gerade)? nach"),
    _rule("de.comes-from", "comes from", _NAMED, "ich komme(?: ursprünglich)? aus"),
    _rule(
        "de.works-at",
        "works at",
        _NAMED,
        "ich arbeite(?: jetzt| derzeit)? bei(?: der| dem)?",
    ),
    _rule("de.works-as", "works as", _ANY, "ich arbeite(?: jetzt| derzeit)? als(?: eine?)?"),
    _rule(
        "de.rather",
        "prefers",
        r"(?P<object>.+?) lieber als (?P<other>.+)",
        "ich (?:mag|trinke|esse)",
    ),
    _rule("de.prefers", "prefers", _ANY, "ich bevorzuge"),
    _rule("de.favourite", "favourite {what}", _ANY, r"meine? lieblings(?P<what>\w+) (?:ist|sind)"),
    _rule(
        "de.allergic",
        "is allergic to",
        _ANY,
        "ich bin(?: sehr| stark)? allergisch (?:gegen|auf)",
    ),
    _rule("de.called", "{what} is called", _NAMED, f"meine? (?P<what>{'|'.join(_KIN_DE)}) heißt"),
    _rule("de.birthday", "birthday", _DATE, "mein geburtstag ist(?: am)?"),
    _rule("de.born", "birthday", f"{_DATE} geboren", "ich (?:bin|wurde) am"),
    _rule("de.email", "e-mail", _MAIL, "meine e-?mail(?:-?adresse)? (?:ist|lautet)"),
    _rule("de.phone", "phone", _PHONE, "meine (?:telefon|handy)nummer (?:ist|lautet)"),
    _rule(
        "de.remember",
        _REMEMBER,
        _ANY,
        "(?:bitte )?(?:merke? dir|denke? daran|vergiss nicht),? dass",
    ),
    _rule(
        "de.due",
        "is due",
        f"{_DATE} fällig",
        r"(?:der|die|das|unsere?|meine?) (?P<subject>\w+(?: \w+){0,3}) ist am",
    ),
)
_FENCED = re.compile(r"```.*?(?:```|\Z)|^[ \t]*>.*$", re.DOTALL | re.MULTILINE)
_QUOTED = re.compile(
    r"\"[^\"\n]{0,1000}\"|\u201c[^\u201d\n]{0,1000}\u201d|\u201e[^\u201c\u201d\n]{0,1000}[\u201c\u201d]"
    r"|\u00bb[^\u00ab\n]{0,1000}\u00ab|\u00ab[^\u00bb\n]{0,1000}\u00bb|(?<!\w)'[^'\n]{0,1000}'(?!\w)"
)
_MARK = "\N{BLACK SQUARE}"
"""Stands where a quotation was."""
_SENTENCE = re.compile(r"(?<=[.!?])(?<!\d\.)(?<!\b[DM]r\.)(?<!\bMrs\.)\s+|\n+")
_CLAUSE = re.compile(
    r"^(?:(?:hi|hello|hey|well|ok|okay|so|yes|no|also|actually|btw|by the way|oh|thanks|now|and|but"
    r"|hallo|ja|nein|übrigens|und|aber|danke|there|everyone)\b[,!.]?\s+)*"
    r"|(?:[,;:](?: (?:and|but|und|aber))?| (?:and|but|und|aber)) ",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    r"\b(?:if|whether|unless|suppose|imagine|pretend|wish|would|could|might|maybe|perhaps|when"
    r"|until|says?|said|told|tells?|asks?|asked|writes?|wrote|thinks?|thought|reads?|example"
    r"|instance|story|character|wenn|falls|ob|stell|würde|könnte|vielleicht|sagte?|schrieb"
    r"|schreibt|beispiel|als)\b",
    re.IGNORECASE,
)
_END = re.compile(
    r"\s*(?:[;(]|,\s*(?:and|but|so|because|und|aber|weil|denn|which|who|though)\b"
    r"|\s(?:and|but|und|aber)\s+(?:i|my|we|he|she|they|you|ich|mein|meine|wir)\b"
    r"|\s(?:because|since|although|though|but|weil|obwohl|aber)\b).*$",
    re.IGNORECASE | re.DOTALL,
)
_NOTHING = re.compile(
    r"^(?:it|this|that|these|those|them|him|her|you|your|what\w*|which\w*|who\w*|how|not|to|if|when|as|unknown"
    r"|none|nothing|das|dies|diese|es|sie|ihn|dich|euch|was|nicht|wie|dass|zu|keine?)\b",
    re.IGNORECASE,
)
_COMPARED = re.compile(r"\s+(?:over|rather than|instead of|to|gegenüber)\s+", re.IGNORECASE)


@record
class RuleFact:
    """A fact that a rule finds in a message."""

    triple: Triple
    rule: str
    """The name of the rule, which begins with its language."""
    message: Stored
    """What the user wrote."""


def facts_by_rules(messages: Sequence[Stored], *, user: str = USER) -> tuple[RuleFact, ...]:
    """Returns the facts that rules find in the messages of users, in their order.

    Args:
        messages: in order; those of other roles, and results of tools, have no facts.
        user: the name of the user, subject of what he says of himself.

    >>> import ibidem
    >>> memory = ibidem.Conversations(ibidem.init("memory:", author="ada"))
    >>> sentence = "Hi, my name is Ada and I prefer tea over coffee. Do I live in Graz?"
    >>> written = memory.append("support", [("user", sentence)])
    >>> [one.triple.text for one in facts_by_rules(memory.messages("support"))]
    ['user name Ada', 'user prefers tea over coffee']
    """
    return tuple(
        RuleFact(triple, rule, message)
        for message in messages
        if is_question(message)
        for triple, rule in _in_text(message.text, user)
    )


def _in_text(text: str, user: str) -> Iterator[tuple[Triple, str]]:
    plain = _QUOTED.sub(f" {_MARK} ", _FENCED.sub("\n", text))
    met: set[tuple[str, str, str]] = set()
    for part in _SENTENCE.split(plain):
        sentence = " ".join(part.split())
        if not sentence or sentence.endswith("?") or len(sentence) > _CHARS_MAX:
            continue
        for start in dict.fromkeys(match.end() for match in _CLAUSE.finditer(sentence)):
            if _UNSURE.search(sentence, 0, start):
                break
            for rule in _RULES:
                match = rule.pattern.match(sentence, start)
                triple = None if match is None else _triple(rule, match, user)
                if triple is not None:
                    parts = (triple.subject, triple.predicate, triple.object)
                    if parts not in met:
                        met.add(parts)
                        yield triple, rule.name
                    break


def _triple(rule: _Rule, match: re.Match[str], user: str) -> Triple | None:
    """Returns the fact of a match; None if what follows the phrase is no object."""
    groups = match.groupdict()
    is_sentence = rule.predicate == _REMEMBER
    object_ = groups["object"] if is_sentence else _END.sub("", groups["object"])
    object_ = _trimmed(object_)
    if groups.get("other"):
        object_ = f"{object_} over {_trimmed(_END.sub('', groups['other']))}"
    elif rule.predicate == "prefers":
        object_ = _COMPARED.sub(" over ", object_, count=1)
    most = _SENTENCE_MAX if is_sentence else _WORDS_MAX
    is_wrong = _MARK in object_ or len(object_.split()) > most
    subject = groups.get("subject") or user
    if is_wrong or not term_of(object_) or not term_of(subject):
        return None
    if not is_sentence and _NOTHING.match(object_):
        return None
    what = (groups.get("what") or "").lower()
    predicate = rule.predicate.format(what=_KIN_DE.get(what, what))
    return Triple(subject, predicate, object_, CONFIDENCE)


def _trimmed(text: str) -> str:
    return text.strip().rstrip(".!,:;)… ").strip()
