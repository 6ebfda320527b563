"use strict";
// The kernel's text, with the line that is just executed.

const KEYWORDS = new Set(
  ("and as assert break class continue def del elif else except for from global if import in is " +
    "lambda None nonlocal not or pass raise return True False try while with yield").split(" "),
);
const TOKEN = /(#.*)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(@?[A-Za-z_]\w*)|(\d[\w.]*)|(\s+|.)/gu;

/** [{text, kind}] of a line of Python; kind: "comment", "string", "keyword", "digits", "cuda" or "" */
function tokensOf(line) {
  const tokens = [];
  for (const [text, comment, string, name, number] of line.matchAll(TOKEN)) {
    let kind = "";
    if (comment) kind = "comment";
    else if (string) kind = "string";
    else if (number) kind = "digits";
    else if (name && KEYWORDS.has(name)) kind = "keyword";
    else if (name && (name === "cuda" || name.startsWith("@"))) kind = "cuda";
    tokens.push({ text, kind });
  }
  return tokens;
}

class SourcePanel {
  /** onLine(source, line): what to do when a line is chosen. */
  constructor(run, parts, onLine) {
    this.run = run;
    this.heading = parts.heading;
    this.list = parts.list;
    this.onLine = onLine;
    this.worst = worstByLine(run);
    this.shown = -1;
  }

  show(position) {
    const step = this.run.steps[position];
    const source = step ? step.source : 0;
    if (source !== this.shown) this.build(source);
    const letters = this.lettersByLine(position);
    for (const [number, row] of this.rows) {
      row.classList.toggle("now", Boolean(step) && step.line === number);
      row.querySelector(".letter").textContent = letters.get(number) || "";
      if (step && step.line === number) row.setAttribute("aria-current", "step");
      else row.removeAttribute("aria-current");
    }
    if (step) this.reveal(this.rows.get(step.line));
  }

  /** "A", "B" or "AB" at the lines of the accesses that a finding is about. */
  lettersByLine(position) {
    const letters = new Map();
    for (const finding of findingsAt(this.run, position)) {
      if (finding.other === undefined || finding.other < 0) continue;
      [finding.step, finding.other].forEach((number, i) => {
        const step = this.run.steps[number];
        if (step.source !== this.shown) return;
        const known = letters.get(step.line) || "";
        if (!known.includes("AB"[i])) letters.set(step.line, known + "AB"[i]);
      });
    }
    return letters;
  }

  build(number) {
    this.shown = number;
    const source = this.run.sources[number];
    this.heading.textContent = `${source.name} in ${source.file}`;
    this.list.replaceChildren();
    this.rows = new Map();
    source.lines.forEach((text, i) => {
      const line = source.first + i;
      const row = this.row(number, line, text);
      this.rows.set(line, row);
      this.list.append(row);
    });
  }

  row(source, line, text) {
    const row = document.createElement("li");
    const found = this.run.findings.filter((f) => f.source === source && f.line === line);
    row.classList.toggle("wrong", found.some((finding) => !finding.advice));
    row.classList.toggle("advice", found.some((finding) => finding.advice));
    row.append(
      element("span", "number", String(line)),
      element("span", "letter", ""),
      this.code(text),
      this.badge(source, line),
    );
    if (nextAtLine(this.run, -1, source, line) >= 0) {
      row.classList.add("runs");
      row.title = `Go to the next step of line ${line}`;
      row.addEventListener("click", () => this.onLine(source, line));
    }
    return row;
  }

  code(text) {
    const code = element("code", "", "");
    for (const token of tokensOf(text)) code.append(element("span", token.kind, token.text));
    return code;
  }

  /** What the line costs more than it has to. */
  badge(source, line) {
    const worst = this.worst.get(`${source}:${line}`);
    if (worst && worst.passes > 1) {
      const badge = element("span", "badge", `${worst.passes} passes`);
      badge.title = `A bank conflict: up to ${worst.passes} passes instead of 1`;
      return badge;
    }
    if (worst && worst.sectors > worst.fewest * 2) {
      const badge = element("span", "badge", `${worst.sectors} sectors`);
      badge.title = `Up to ${worst.sectors} sectors per request; ${worst.fewest} could hold it`;
      return badge;
    }
    return element("span", "badge none", "");
  }

  /** Scroll the list, and never the page, so that a row can be seen. */
  reveal(row) {
    if (!row) return;
    const list = this.list;
    const top = row.offsetTop;
    const margin = row.offsetHeight * 2;
    if (top - margin < list.scrollTop) list.scrollTop = Math.max(0, top - margin);
    const below = top + row.offsetHeight + margin - list.clientHeight;
    if (below > list.scrollTop) list.scrollTop = below;
  }
}

/** A new element with a class and a text; the text is never taken for HTML. */
function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}
