"""The course as a site: what it links, what its gallery shows, what it replaces, how it looks."""

import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from types import SimpleNamespace
from urllib.parse import unquote, urldefrag

import pytest

from kernels.plumbing.errors import InputError
from lessons.__main__ import main
from lessons.course.lesson import find_lesson
from lessons.course.mistakes import entries_of_kind
from lessons.detective.cases import make_case
from lessons.site import command, gallery
from tests.lab.browser import VIEWS, browser

HERE = "somebody/lake"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("markdown_it")
    out = tmp_path_factory.mktemp("site") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "repository", lambda: HERE)
        patch.setattr(command.pages, "CASES_PER_LEVEL", 1)
        assert main(["site", "--to", str(out), "--gallery", "1,5", "--steps", "20"]) == 0
    return out


class Links(HTMLParser):
    """What a page leads to, what it shows, and the anchors that it has."""

    def __init__(self, path):
        super().__init__()
        self.leads, self.shows, self.anchors = [], [], {None, ""}
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors.add(found.get("id"))
        address = found.get("href" if tag in ("a", "link") else "src")
        if address:
            (self.leads if tag == "a" else self.shows).append(address)


@pytest.mark.slow
def test_every_link_leads_somewhere_and_nothing_is_asked_of_others(site):
    pages = {path.resolve(): Links(path) for path in site.rglob("*.html")}
    assert len(pages) > 50
    for path, page in pages.items():
        for address in page.shows:
            assert address.startswith("data:") or (path.parent / unquote(address)).is_file(), path
        for address in page.leads:
            if "://" not in address:
                where, anchor = urldefrag(address)
                target = (path.parent / unquote(where)).resolve() if where else path
                assert target in pages or target.suffix in (".png", ".jpg"), (path, address)
                assert not anchor or anchor in pages[target].anchors, (path, address)
    notebook = f"https://colab.research.google.com/github/{HERE}/blob/main/lessons/start_here.ipynb"
    for page in ("index.html", "lessons/01_grayscale/index.html"):
        assert notebook in pages[site / page].leads
    assert f"https://github.com/{HERE}/blob/main/train.py" in pages[site / "index.html"].leads


@pytest.mark.slow
@pytest.mark.parametrize("number", ["1", "5"])
def test_the_gallery_and_its_lessons_lead_to_each_other(site, number):
    lesson = find_lesson(number)
    sentences = {one.name: one.sentence for one in entries_of_kind(lesson, "wrong")}
    shown = Links(site / "gallery" / "index.html").leads
    of_lesson = [one for one in shown if one.startswith(f"{lesson.name}-")]
    assert len(of_lesson) == gallery.PER_LESSON
    below = Links(site / "lessons" / lesson.name / "index.html").leads
    assert {f"../../gallery/{one}" for one in of_lesson} <= set(below)
    for one in of_lesson:
        page = site / "gallery" / one
        assert f"../lessons/{lesson.name}/index.html" in Links(page).leads
        told = unescape(page.read_text("utf-8"))
        assert sentences[page.stem.partition("-")[2]] in told
        broken, mended = (
            (site / "gallery" / "replays" / f"{page.stem}-{which}.html").read_text("utf-8")
            for which in ("broken", "mended")
        )
        assert gallery.title_of(broken) == gallery.title_of(mended) != ""
        assert '"advice":false' in broken and '"advice":false' not in mended
        assert "/tmp" not in told + broken + mended


@pytest.mark.thorough
def test_pages_look_right_on_a_phone_and_on_a_desk_light_and_dark(site, tmp_path):
    exhibit = next((site / "gallery").glob("05_*.html"))
    replay = site / "gallery" / "replays" / f"{exhibit.stem}-broken.html"
    pages = ("index.html", "lessons/05_tiles/index.html", "gallery/index.html", "search.html",
             "lessons/detective/index.html", "lessons/detective/case-4-1.html")  # fmt: skip
    with browser(tmp_path) as window:
        for page in (*(site / page for page in pages), exhibit, replay):
            for view in VIEWS:
                window.open(page.as_uri(), *view)
                assert window.audit(site.as_uri()) == [], (page.name, view)


@pytest.mark.thorough
def test_the_lake_learns_and_search_finds(site, tmp_path):
    with browser(tmp_path) as window:
        window.open((site / "index.html").as_uri())
        window.run("get('lake-step').focus()")
        for key, code, words in (("Home", 36, "step 1, "), ("End", 35, "step 20, ")):
            window.press(key, code)
            assert window.run("get('lake-words').textContent").startswith(words)
        window.open((site / "search.html").as_uri() + "?q=Barrier+tiles")
        assert "05_tiles" in window.run("document.querySelector('#found a').href")


@pytest.mark.thorough
def test_line_and_kind_of_a_case_are_named(site, tmp_path):
    case = make_case("site 1", None, 2)
    page = site / "lessons" / "detective" / "case-2-1.html"
    assert page.name in Links(page.with_name("index.html")).leads

    def answer(line, kind):
        """What is told; line: how often the arrow goes down from the first."""
        window.run("document.querySelector('[name=line]').focus()")
        for _ in range(line - 1):
            window.press("ArrowDown", 40)
        window.run(f"document.querySelector('select').value = '{kind}'")
        window.run("document.querySelector('#case button').click()")
        return window.run("get('told').textContent")

    with browser(tmp_path) as window:
        window.open(page.as_uri())
        assert answer(1, "") == "Choose a line and a kind."
        wrong = next(line for line in range(2, 99) if line not in case.lines)
        assert f"Line {wrong}: not here." in answer(wrong, "launch shape")
        window.open(page.as_uri())
        told = answer(min(case.lines), case.kinds[0])
        assert f"Line {min(case.lines)}: that is the place. {case.kinds[0]}: yes." in told
        assert "Solved, with 1 answer." in told


@pytest.mark.thorough
def test_the_whole_site_shows_forty_kernels_and_stays_small(tmp_path):
    pytest.importorskip("markdown_it")
    assert main(["site", "--to", str(tmp_path / "out"), "--steps", "20"]) == 0
    assert len([*(tmp_path / "out" / "gallery").glob("*.html")]) > 40
    # The pictures of a longer training take some more.
    assert sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file()) < 23_000_000


# ---------------------------------------------------------------- the folder


@pytest.fixture
def quick(monkeypatch):
    """A site of two files, in no time."""

    def write_pages(out, chosen, steps):
        (out / "new").mkdir(parents=True)
        for name in ("index.html", "new/a.html"):
            (out / name).write_text("made")
        (out / command.RECORD).write_text('["index.html", "new/a.html"]')

    monkeypatch.setattr(command.pages, "require_packages", lambda: None)
    monkeypatch.setattr(command, "write_pages", write_pages)
    return write_pages


def files_in(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


MADE = {"index.html", "new/a.html", "site.json"}


def test_a_site_replaces_a_site_and_nothing_else(quick, tmp_path):
    out, mine = tmp_path / "b" / "out", tmp_path / "mine.txt"
    mine.write_text("mine")
    for _ in range(2):
        assert main(["site", "--to", str(out)]) == 0
        assert files_in(out.parent) == {f"out/{name}" for name in MADE}
    (out / "old").mkdir()
    (out / "old" / "b.html").write_text("made before")
    (out / "site.json").write_text(f'["index.html", "old/b.html", "../../mine.txt", "{mine}"]')
    (out / "new" / "a.html").unlink()
    assert main(["site", "--to", str(out)]) == 0
    assert files_in(out) == MADE and not (out / "old").exists() and mine.exists()


def test_a_foreign_folder_is_refused_and_with_consent_keeps_its_files(quick, tmp_path, capsys):
    (tmp_path / "index.html").write_text("mine")
    (tmp_path / "notes.txt").write_text("mine")
    assert main(["site", "--to", str(tmp_path)]) == 2
    assert "holds other files, such as index.html" in capsys.readouterr().err
    assert files_in(tmp_path) == {"index.html", "notes.txt"}
    assert (tmp_path / "index.html").read_text() == "mine"
    assert main(["site", "--to", str(tmp_path), "--overwrite"]) == 0
    assert files_in(tmp_path) == MADE | {"notes.txt"}
    assert main(["site", "--to", str(tmp_path / "notes.txt"), "--overwrite"]) == 2


def test_a_site_that_is_not_finished_leaves_the_old_one(quick, tmp_path, monkeypatch):
    assert main(["site", "--to", str(tmp_path / "out")]) == 0

    def fail(*arguments):
        quick(*arguments)
        raise InputError("no")

    monkeypatch.setattr(command, "write_pages", fail)
    assert main(["site", "--to", str(tmp_path / "out")]) == 2
    assert files_in(tmp_path) == {f"out/{name}" for name in MADE}


@pytest.mark.parametrize("package", ["markdown_it", "pygments", "jinja2"])
def test_a_missing_package_is_one_line(monkeypatch, tmp_path, capsys, package):
    for other in ("markdown_it", "pygments", "jinja2"):
        monkeypatch.setitem(sys.modules, other, None if other == package else sys)
    assert main(["site", "--to", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert package in error and "-r .ci/requirements.txt" in error and error.count("\n") == 1


@pytest.mark.parametrize(
    "address, name",
    [
        ("https://github.com/somebody/lake.git", HERE),
        ("https://token@github.com/somebody/lake", HERE),
        ("git@github.com:somebody/lake.git", HERE),
        ("ssh://git@ssh.github.com:443/somebody/lake/", HERE),
        ("org-1@github.com:somebody/lake", HERE),
        ("https://example.org/somebody/lake.git", ""),
        ("", ""),
    ],
)
def test_the_repository_is_that_of_the_remote(monkeypatch, address, name):
    told = SimpleNamespace(stdout=f"{address}\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: told)
    assert command.repository() == name


def test_a_kind_is_shown_once_before_another_is_shown_twice():
    first = [entry.words for entry in list(gallery.candidates(find_lesson(5)))[:4]]
    assert first[:2] == ["race", "barrier"] and len(set(first)) == 4
