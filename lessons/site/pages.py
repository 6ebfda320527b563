"""From Markdown to pages: links that lead to pages, pictures, what search looks through."""

import html
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from posixpath import normpath, relpath
from typing import Any, NamedTuple

from kernels.plumbing.errors import InputError
from lessons.course.lesson import ROOT, Lesson, lessons
from lessons.site.gallery import Shown

HERE = Path(__file__).resolve().parent
ASSETS = "style.css", "site.js"
PICTURES = ".png", ".jpg", ".gif", ".svg"
NOTEBOOK = "lessons/start_here.ipynb"
DATA = re.compile('<script type="application/json" id="data">(.*?)</script>', re.S)


def require_markdown() -> None:
    """Raise `InputError` if the packages that make pages are missing."""
    try:
        import markdown_it  # noqa: F401
        import pygments  # noqa: F401
    except ImportError:
        raise InputError(
            "the site is made by markdown-it-py and Pygments, which are missing: "
            "python -m pip install -r .ci/requirements.txt"
        ) from None


class Section(NamedTuple):
    """What search finds. url: from the site's top. words: all that stands below the heading."""

    url: str
    page: str
    heading: str
    words: str


class Site:
    """All pages in a folder.

    files: the Markdown files. repository: "owner/name" on GitHub, or "". shown: the gallery.
    """

    def __init__(
        self, out: Path, files: Sequence[Path], repository: str, shown: Sequence[Shown]
    ) -> None:
        self.out, self.repository, self.shown = out, repository, shown
        self.names = {path.relative_to(ROOT).as_posix(): path for path in files}
        self.sections: list[Section] = []
        self.layout = (HERE / "layout.html").read_text(encoding="utf-8")

    def write(self) -> None:
        for name, path in self.names.items():
            title, body = self.rendered(name, path.read_text(encoding="utf-8"))
            if name == "README.md":
                body = self.front(body)
            lesson = next((one for one in lessons() if path.parent == one.folder), None)
            self.write_page(url_of(name), title, body + (self.after(lesson) if lesson else ""))
        for shown in self.shown:
            self.write_page(f"gallery/{shown.page}.html", headline(shown), self.exhibit(shown))
        self.write_page("gallery/index.html", "Watch it go wrong", self.gallery())
        search = '<h1>Search</h1><div id="found" role="status"></div>'
        self.write_page("search.html", "Search", search, '<script src="words.js"></script>')
        words = json.dumps(self.sections, separators=(",", ":"))
        (self.out / "words.js").write_text(f"const SECTIONS = {words};\n", encoding="utf-8")
        for name in ASSETS:
            shutil.copyfile(HERE / name, self.out / name)

    def write_page(self, url: str, title: str, body: str, scripts: str = "") -> None:
        top = relpath(".", Path(url).parent.as_posix())
        parts = {"title": html.escape(title), "top": top, "scripts": scripts, "body": body}
        text = self.layout
        for name, part in parts.items():
            text = text.replace(f"<!--{name}-->", part)
        path = self.out / url
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    # ------------------------------------------------------------ Markdown

    def rendered(self, name: str, text: str) -> tuple[str, str]:
        """(title, HTML) of a Markdown file; notes what search should find."""
        from markdown_it import MarkdownIt

        converter = MarkdownIt("commonmark", {"highlight": highlighted}).enable("table")
        converter.add_render_rule("table_open", lambda *_: '<div class="wide" tabindex="0"><table>')
        converter.add_render_rule("table_close", lambda *_: "</table></div>")
        tokens = converter.parse(text)
        headings: list[tuple[str, str, list[str]]] = []
        used: dict[str, int] = {}
        for before, token in zip([None, *tokens], tokens, strict=False):
            if token.type == "code_block":
                token.type = "fence"
            if token.type != "inline":
                continue
            words = "".join(child.content or " " for child in token.children if not child.nesting)
            if before is not None and before.type == "heading_open":
                before.attrs["id"] = anchor = unique(slug(words), used)
                headings.append((anchor, words, []))
            elif headings:
                headings[-1][2].append(words)
            self.mend_links(name, token.children)
        title = headings[0][1] if headings else name
        for anchor, heading, below in headings:
            url = f"{url_of(name)}#{anchor}"
            self.sections.append(Section(url, title, heading, " ".join(" ".join(below).split())))
        return title, converter.renderer.render(tokens, converter.options, {})

    def mend_links(self, name: str, children: Sequence[Any]) -> None:
        open_links = []
        for child in children:
            if child.type == "image":
                child.attrs["src"] = self.picture(name, child.attrs["src"])
            elif child.type == "link_open":
                address = self.address(name, child.attrs["href"])
                child.tag, open_links = ("a" if address else "span"), [*open_links, bool(address)]
                child.attrs = {"href": address} if address else {}
            elif child.type == "link_close" and not open_links.pop():
                child.tag = "span"

    def picture(self, name: str, source: str) -> str:
        """Copy a picture of the project to where the page of `name` asks for it."""
        target = normpath(f"{Path(name).parent.as_posix()}/{source}")
        (self.out / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / target, self.out / target)
        return source

    def address(self, name: str, link: str) -> str:
        """Where a link leads: a page, a file of the repository, or ""."""
        path, mark, anchor = link.partition("#")
        if "://" in link or not path:
            return link
        target = normpath(f"{Path(name).parent.as_posix()}/{path}")
        for page in (target, f"{target}/README.md"):
            if page in self.names:
                return relpath(url_of(page), Path(url_of(name)).parent.as_posix()) + mark + anchor
        if Path(target).suffix in PICTURES and (ROOT / target).is_file():
            return self.picture(name, path)
        kind = "tree" if (ROOT / target).is_dir() else "blob"
        return (
            f"https://github.com/{self.repository}/{kind}/main/{target}" if self.repository else ""
        )

    # ------------------------------------------------------------ pages of our own

    def front(self, readme: str) -> str:
        """The README, with the lake learning below its heading."""
        page = (self.out / "lake" / "index.html").read_text(encoding="utf-8")
        found = DATA.search(page)
        assert found, "train.py leaves a page with data"
        data = json.loads(found[1])
        width, height = data["size"]
        kept = {"frames": data["frames"], "size": [width, height]}
        text = json.dumps(kept, separators=(",", ":")).replace("<", "\\u003c")
        start = (HERE / "front.html").read_text(encoding="utf-8").replace("<!--data-->", text)
        start = start.replace("<!--colab-->", self.colab()).replace("<!--words-->", data["words"])
        start = start.replace("<!--count-->", str(len(self.shown)))
        title, _, rest = readme.partition("</h1>")
        return f"{title}</h1>{start}{rest}"

    def colab(self) -> str:
        if not self.repository:
            return ""
        address = f"https://colab.research.google.com/github/{self.repository}/blob/main/{NOTEBOOK}"
        return f'<a class="badge" href="{address}">Lesson 1 in Colab</a>'

    def after(self, lesson: Lesson) -> str:
        """Below a lesson: its broken kernels, and its neighbours."""
        around = lessons()
        place = around.index(lesson)
        links = "".join(
            f'<a href="../{one.name}/index.html">{arrow} {one.number}: {html.escape(one.title)}</a>'
            for arrow, one in (("Before:", around[place - 1]), ("Next:", around[place + 1 :][:1]))
            for one in (one if isinstance(one, list) else [one][:place])
        )
        cards = self.cards([one for one in self.shown if one.lesson == lesson], "../../gallery/")
        watch = f'<h2 id="gallery">Watch it go wrong</h2>{cards}' if cards else ""
        badge = f"<p>{self.colab()}</p>" if lesson.number == "1" else ""
        return f'{badge}{watch}<nav class="around" aria-label="Lessons">{links}</nav>'

    def gallery(self) -> str:
        groups = []
        for lesson in lessons():
            cards = self.cards([one for one in self.shown if one.lesson == lesson], "")
            if cards:
                link = f"../lessons/{lesson.name}/index.html"
                title = f"Lesson {lesson.number}: {html.escape(lesson.title)}"
                groups.append(f'<h2><a href="{link}">{title}</a></h2>{cards}')
        return (
            f"<h1>Watch it go wrong</h1><p>{len(self.shown)} kernels with a mistake that people "
            "make. Each can be replayed, step by step, beside the one that is right: which thread "
            f"touched what, who waits, and where it goes wrong.</p>{''.join(groups)}"
        )

    def cards(self, shown: Sequence[Shown], folder: str) -> str:
        items = "".join(
            f'<li><a href="{folder}{one.page}.html"><b>{html.escape(one.entry.code)}</b> '
            f'<span class="kind">{html.escape(one.kind)}</span></a>'
            f"<p>{html.escape(one.entry.sentence)}</p></li>"
            for one in shown
        )
        return f'<ul class="cards">{items}</ul>' if items else ""

    def exhibit(self, shown: Shown) -> str:
        """A broken kernel: what is wrong, what changed, and two replays."""
        lesson, place = shown.lesson, self.shown.index(shown)
        replays = "".join(
            f'<figure><figcaption><a href="replays/{shown.page}-{which}.html">{title}</a>'
            f'</figcaption><iframe loading="lazy" title="Replay: {which}" '
            f'src="replays/{shown.page}-{which}.html"></iframe></figure>'
            for which, title in (("broken", "Watch the broken one"), ("mended", "Watch it mended"))
        )
        near = [("Before:", one) for one in self.shown[max(0, place - 1) : place]]
        near += [("Next:", one) for one in self.shown[place + 1 :][:1]]
        links = "".join(
            f'<a href="{one.page}.html">{arrow} {html.escape(one.entry.code)}</a>'
            for arrow, one in near
        )
        title = f"Lesson {lesson.number}: {html.escape(lesson.title)}"
        self.sections.append(
            Section(f"gallery/{shown.page}.html", "Watch it go wrong", headline(shown),
                    f"{shown.kind} {shown.entry.sentence}")
        )  # fmt: skip
        return (
            f'<p><a href="../lessons/{lesson.name}/index.html">{title}</a></p>'
            f"<h1>{html.escape(headline(shown))}</h1><p>{html.escape(shown.entry.sentence)}</p>"
            f'<div class="replays">{replays}</div>'
            f'<h2>What the check says</h2><pre class="said" tabindex="0">{html.escape(shown.said)}'
            f"</pre><h2>What is different from ours</h2>{''.join(changes(shown))}"
            f'<nav class="around" aria-label="Gallery"><a href="index.html">All</a>{links}</nav>'
        )


def changes(shown: Shown) -> Iterator[str]:
    for part in shown.entry.patch:
        lines = "".join(
            f"<{tag}>{html.escape(line)}</{tag}>\n"
            for line in part.lines
            for tag in [{"-": "del", "+": "ins"}.get(line[0], "span")]
        )
        yield f'<pre class="diff" tabindex="0" aria-label="{html.escape(part.of)}">{lines}</pre>'


def headline(shown: Shown) -> str:
    return f"{shown.entry.code}, in {shown.kernel}".capitalize()


def url_of(name: str) -> str:
    """Where the page of a Markdown file lies."""
    return re.sub(r"README\.md$", "index.html", name).removesuffix(".md") + (
        "" if name.endswith("README.md") else ".html"
    )


def slug(words: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")


def unique(anchor: str, used: dict[str, int]) -> str:
    used[anchor] = used.get(anchor, -1) + 1
    return f"{anchor}-{used[anchor]}" if used[anchor] else anchor


def highlighted(code: str, language: str, _: str) -> str:
    """A block of code as HTML, which may be scrolled by keys."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    text = html.escape(code)
    if language == "python":
        text = highlight(code, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True))
    return f'<pre tabindex="0"><code>{text}</code></pre>\n'
