"""From Markdown to pages: links that lead to pages, pictures, what search looks through."""

import html
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from posixpath import normpath, relpath
from typing import Any

from kernels.plumbing.errors import InputError
from lessons.course.lesson import ROOT, lessons
from lessons.detective.answers import seen, shown_lines
from lessons.detective.breaks import KINDS
from lessons.detective.cases import LEVELS, Case, make_case
from lessons.detective.looks import difference
from lessons.site.gallery import Shown

HERE = Path(__file__).resolve().parent
PICTURES = ".png", ".jpg", ".gif", ".svg"
DETECTIVES = "lessons/detective"
CASES_PER_LEVEL = 4
COLAB = "https://colab.research.google.com/github/{}/blob/main/lessons/start_here.ipynb"
DATA = re.compile('<script type="application/json" id="data">(.*?)</script>', re.S)


def require_packages() -> None:
    """Raise `InputError` if the packages that make pages are missing."""
    try:
        import jinja2  # noqa: F401
        import markdown_it  # noqa: F401
        import pygments  # noqa: F401
    except ImportError as error:
        raise InputError(
            f"the site is made by {error.name}, which is missing: "
            "python -m pip install -r .ci/requirements.txt"
        ) from None


class Site:
    """All pages in a folder.

    files: the Markdown files. repository: "owner/name" on GitHub, or "". shown: the gallery.
    """

    def __init__(
        self, out: Path, files: Sequence[Path], repository: str, shown: Sequence[Shown]
    ) -> None:
        from jinja2 import Environment, FileSystemLoader

        self.out, self.repository, self.shown = out, repository, shown
        self.names = {path.relative_to(ROOT).as_posix(): path for path in files}
        self.sections: list[tuple[str, str, str, str]] = []  # of search: url, page, heading, words
        self.templates = Environment(loader=FileSystemLoader(HERE / "templates"), autoescape=True)
        self.templates.globals["shown"] = shown
        self.templates.globals["colab"] = COLAB.format(repository) if repository else ""

    def write(self) -> None:
        self.cases = [
            (f"case-{level}-{number}.html", f"Level {level}, case {number}",
             make_case(f"site {number}", None, level))
            for level in LEVELS for number in range(1, CASES_PER_LEVEL + 1)
        ]  # fmt: skip
        for (url, name, case), near in with_neighbours(self.cases):
            self.write_case(url, name, case, near)
        for name, path in self.names.items():
            self.write_text(name, path)
        for one, near in with_neighbours(self.shown):
            url, title = f"gallery/{one.page}.html", f"{one.entry.code}, in {one.kernel}"
            self.write_page("exhibit", url, title.capitalize(), one=one, near=near)
            self.sections.append((url, "Watch it go wrong", title, f"{one.kind} {one.said}"))
        self.write_page("gallery", "gallery/index.html", "Watch it go wrong")
        self.write_page("search", "search.html", "Search")
        words = json.dumps(self.sections, separators=(",", ":"))
        (self.out / "words.js").write_text(f"const SECTIONS = {words};\n", encoding="utf-8")
        for name in ("style.css", "site.js"):
            shutil.copyfile(HERE / name, self.out / name)

    def write_text(self, name: str, path: Path) -> None:
        """The page of a Markdown file."""
        from markupsafe import Markup

        title, text = self.rendered(name, path.read_text(encoding="utf-8"))
        body, url = Markup(text), url_of(name)
        if name == "README.md":
            found = DATA.search((self.out / "lake" / "index.html").read_text(encoding="utf-8"))
            assert found, "train.py leaves a page with data"
            return self.write_page("front", url, title, body=body, run=json.loads(found[1]))
        if name == f"{DETECTIVES}/README.md":
            parts = {"body": body, "cases": self.cases, "seen_of": seen}
            return self.write_page("detective", url, title, **parts)
        for lesson, near in with_neighbours(lessons()):
            if lesson.folder == path.parent:
                return self.write_page("lesson", url, title, body=body, lesson=lesson, near=near)
        self.write_page("layout", url, title, body=body)

    def write_case(self, url: str, name: str, case: Case, near: Sequence[Any]) -> None:
        """A case of which line and kind can be named in a browser."""
        from markupsafe import Markup

        task = Markup(re.sub("`(.*?)`", r"<code>\1</code>", html.escape(case.task)))
        parts = {"seen": "\n".join(shown_lines(case)), "changes": difference(case), "near": near}
        self.write_page(
            "detective", f"{DETECTIVES}/{url}", name, case=case, task=task, kinds=KINDS, **parts
        )
        where = f"{DETECTIVES}/{url}", "Detectives", name
        self.sections.append((*where, f"{case.task} {parts['seen']}"))

    def write_page(self, template: str, url: str, title: str, **parts: Any) -> None:
        top = relpath(".", Path(url).parent.as_posix())
        text = self.templates.get_template(f"{template}.html").render(top=top, title=title, **parts)
        (self.out / url).parent.mkdir(parents=True, exist_ok=True)
        (self.out / url).write_text(text, encoding="utf-8")

    # ------------------------------------------------------------ Markdown

    def rendered(self, name: str, text: str) -> tuple[str, str]:
        """(title, HTML) of a Markdown file; notes what search should find."""
        from markdown_it import MarkdownIt

        converter = MarkdownIt("commonmark", {"highlight": highlighted}).enable("table")
        converter.add_render_rule("table_open", lambda *_: '<div class="wide" tabindex="0"><table>')
        converter.add_render_rule("table_close", lambda *_: "</table></div>")
        tokens = converter.parse(text)
        headings: list[tuple[str, str, list[str]]] = []
        for before, token in zip([None, *tokens], tokens, strict=False):
            if token.type == "code_block":
                token.type = "fence"
            if token.type != "inline":
                continue
            children = token.children or []
            words = "".join(child.content or " " for child in children if not child.nesting)
            if before is not None and before.type == "heading_open":
                # The anchor that GitHub gives a heading.
                anchor = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
                before.attrs["id"] = anchor
                headings.append((anchor, words, []))
            elif headings:
                headings[-1][2].append(words)
            self.mend_links(name, children)
        title = headings[0][1] if headings else name
        for anchor, heading, below in headings:
            where = f"{url_of(name)}#{anchor}"
            self.sections.append((where, title, heading, " ".join(" ".join(below).split())))
        return title, converter.renderer.render(tokens, converter.options, {})

    def mend_links(self, name: str, children: Sequence[Any]) -> None:
        """Let links lead to pages; one that would lead nowhere becomes words."""
        tags: list[str] = []
        for child in children:
            if child.type == "image":
                self.copy_picture(name, child.attrs["src"])
            elif child.type == "link_open":
                address = self.address(name, child.attrs["href"])
                tags.append("a" if address else "span")
                child.tag, child.attrs = tags[-1], {"href": address} if address else {}
            elif child.type == "link_close":
                child.tag = tags.pop()

    def copy_picture(self, name: str, source: str) -> None:
        """Copy a picture of the project to where the page of `name` asks for it."""
        target = normpath(f"{Path(name).parent.as_posix()}/{source}")
        (self.out / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / target, self.out / target)

    def address(self, name: str, link: str) -> str:
        """Where a link leads: a page, a file of the repository, or ""."""
        path, mark, anchor = link.partition("#")
        if "://" in link or not path:
            return link
        target = normpath(f"{Path(name).parent.as_posix()}/{path}")
        for page in (target, f"{target}/README.md"):
            if page in self.names:
                return relpath(url_of(page), Path(url_of(name)).parent.as_posix()) + mark + anchor
        if target.endswith(PICTURES) and (ROOT / target).is_file():
            self.copy_picture(name, path)
            return path
        kind = "tree" if (ROOT / target).is_dir() else "blob"
        return self.repository and f"https://github.com/{self.repository}/{kind}/main/{target}"


def with_neighbours(things: Sequence[Any]) -> list[tuple[Any, list[tuple[str, Any]]]]:
    """Each with what is before and after it, in words."""
    before = [[], *([("Before", one)] for one in things)]
    after = [*([("Next", one)] for one in things[1:]), []]
    return [(one, a + b) for one, a, b in zip(things, before, after, strict=False)]


def url_of(name: str) -> str:
    """Where the page of a Markdown file lies."""
    return re.sub(r"README\.md$", "index.md", name).removesuffix(".md") + ".html"


def highlighted(code: str, language: str, _: str) -> str:
    """A block of code as HTML, which may be scrolled by keys."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    text = html.escape(code)
    if language == "python":
        text = highlight(code, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True))
    return f'<pre tabindex="0"><code>{text}</code></pre>\n'
