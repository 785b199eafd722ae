"""The page Try: a post goes in, and a response with its evidence comes out, with progress by step."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import streamlit as st

from leaderboard.components.markup import Html, el
from leaderboard.trying.asking import MOST_CHARACTERS, Answered, TriedPost, ask

_STYLE = """<style>
.try-text { white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: isolate; border: 1px solid #8886;
  border-radius: 4px; padding: .6rem .8rem; margin: .3rem 0; }
.try-response { border-width: 3px; font-size: 1.05rem; }
.try-small { font-size: .85rem; opacity: .8; overflow-wrap: anywhere; }
</style>"""
_WEB_ADDRESS = re.compile(r"https?://[^\s<>\"']+")
_PICTURES = ["jpg", "jpeg", "png", "webp", "gif"]
_MOST_PICTURES = 4


def main() -> None:
    """Show the form, and what came of it."""
    st.set_page_config(page_title="Try", layout="centered")
    st.html(_STYLE)
    st.title("Try")
    st.write("Write or paste a post. The response says what in it misleads and why, with the pages that it rests on.")
    post = _form()
    if post is not None:
        st.session_state["answered"] = _ask(post)
    answered = st.session_state.get("answered")
    if isinstance(answered, Answered):
        _show(answered)


def _form() -> TriedPost | None:
    """What was submitted just now."""
    with st.form("post"):
        text = st.text_area("Post", height=140, max_chars=MOST_CHARACTERS)
        files = st.file_uploader("Pictures", type=_PICTURES, accept_multiple_files=True)
        date = st.text_input(
            "Date", placeholder="2023-04-03", help="When it was posted: nothing younger is used. Now, if left empty."
        )
        model = st.text_input(
            "Model", placeholder="smollm2-135m-text", help="As on the command line; the embedded one if left empty."
        )
        if not st.form_submit_button("Respond", type="primary"):
            return None
    if not text.strip() and not files:
        st.error("Write a post, or add a picture.")
        return None
    pictures = tuple(file.getvalue() for file in files[:_MOST_PICTURES])
    return TriedPost(text, date.strip(), model.strip(), pictures)


def _ask(post: TriedPost) -> Answered:
    """Respond, showing each step as it begins."""
    steps: list[str] = []
    with st.status("Responding ...", expanded=True) as status:
        place = st.empty()

        def tell(step: str) -> None:
            steps.append(step[:1].upper() + step[1:])
            place.html(str(_listed(steps)))

        answered = ask(post, tell)
        place.html(str(_listed(steps, done=True)))
        done = answered.result is not None
        status.update(label="Done" if done else "Stopped", state="complete" if done else "error", expanded=False)
    return answered


def _listed(steps: Sequence[str], *, done: bool = False) -> Html:
    """All steps in order, the one under way in bold."""
    last = None if done else len(steps) - 1
    items = (el("li", el("strong", step) if number == last else step) for number, step in enumerate(steps))
    return el("ol", *items, class_="try-small")


def _show(answered: Answered) -> None:
    found = answered.result
    if found is None:
        st.error("No response.")
        st.html(str(_text(answered.problem)))
        return
    for note in _texts(found, "notes"):
        st.warning(_plain(note))
    st.subheader("Response")
    st.html(str(_text(str(found.get("text") or f"(no response: {found.get('status')})"), "try-response")))
    for number, address in enumerate(_texts(found, "links"), start=1):
        if _WEB_ADDRESS.fullmatch(address):
            st.link_button(f"Open link {number}", address)
    _show_evidence(_rows(found, "evidence"))
    for number, description in enumerate(_texts(found, "pictures"), start=1):
        st.subheader(f"Picture {number}")
        st.html(str(_text(description)))
    _show_work(found)


def _show_evidence(evidence: Sequence[Mapping[str, object]]) -> None:
    st.subheader("Evidence")
    if not evidence:
        st.write("No page that may be used said anything about it.")
    for item in evidence:
        about = f"{item.get('published') or 'undated'}, publisher of {item.get('priority') or 'unknown'} priority"
        st.html(str(el("div", el("strong", str(item.get("title") or item.get("url"))))))
        st.html(str(el("div", f"{item.get('url')} ({about})", class_="try-small")))
        for kind, heading in (("refuting", "Against the post"), ("context", "Context")):
            for quote in _texts(item, kind):
                st.html(str(el("div", f"{heading}: {quote}", class_="try-text", dir_="auto")))


def _show_work(found: Mapping[str, object]) -> None:
    """Queries, time and cost."""
    cost = found.get("cost_usd")
    spent = "unknown" if cost is None else f"{float(str(cost)):.4f} USD"
    st.caption(_plain(f"{found.get('seconds')} s, cost {spent}. Kept in {found.get('folder')}"))
    with st.expander("How it was made"):
        for query in _texts(found, "queries"):
            st.html(str(el("div", f"Searched: {query}", class_="try-small")))
        st.html(str(el("div", f"Nothing after {found.get('until') or 'any date'} was used.", class_="try-small")))
        columns = ("step", "model", "requests", "seconds", "tokens_in", "tokens_out", "cost_usd")
        heads = el("tr", *(el("th", name.replace("_", " ")) for name in columns))
        rows = [
            el("tr", *(el("td", "-" if row.get(name) is None else str(row[name])) for name in columns))
            for row in _rows(found, "steps")
        ]
        st.html(str(el("table", heads, *rows)))


def _text(text: str, more: str = "") -> Html:
    return el("div", text, class_=f"try-text {more}".strip(), dir_="auto")


def _texts(found: Mapping[str, object], name: str) -> list[str]:
    value = found.get(name)
    return [str(item) for item in value] if isinstance(value, list) else []


def _rows(found: Mapping[str, object], name: str) -> list[Mapping[str, object]]:
    value = found.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _plain(text: str) -> str:
    """A text that Streamlit's Markdown shows as it is."""
    return re.sub(r"([\\`*_{}\[\]()#+\-.!|<>~:$&])", r"\\\1", text)


if __name__ == "__main__":
    main()
