"use strict";
// What was found, in words, and the way to where it happened.

class FindingsList {
  /** onGo(step): what to do when a finding's step is asked for. */
  constructor(run, parts, onGo) {
    this.run = run;
    this.onGo = onGo;
    this.cards = [];
    const problems = run.findings.filter((finding) => !finding.advice);
    const advice = run.findings.filter((finding) => finding.advice);
    for (const finding of problems) parts.problems.append(this.card(finding));
    for (const finding of advice) parts.advice.append(this.adviceItem(finding));
    parts.adviceBox.hidden = !advice.length;
    parts.adviceTitle.textContent =
      `${counted(advice.length, "piece")} of advice: right, and could be faster`;
  }

  card(finding) {
    const card = element("li", "finding", "");
    const title = element("h3", "", "");
    const line = finding.line > 0 ? `, line ${finding.line}` : "";
    title.append(element("span", "kind", finding.kind), element("span", "", line));
    card.append(title, element("p", "message", finding.message));
    if (finding.meaning) card.append(element("p", "meaning", finding.meaning));
    const buttons = element("p", "buttons", "");
    this.addButtons(finding, buttons);
    if (buttons.childElementCount) card.append(buttons);
    this.cards.push({ finding, card });
    return card;
  }

  addButtons(finding, buttons) {
    const twoSteps = finding.other !== undefined && finding.other >= 0;
    if (finding.step < 0) return;
    if (!twoSteps) {
      buttons.append(this.button(`Show step ${finding.step + 1}`, finding.step));
      return;
    }
    for (const [letter, number, thread] of [
      ["B", finding.other, finding.threads[1]],
      ["A", finding.step, finding.threads[0]],
    ]) {
      const step = this.run.steps[number];
      const name = thread === undefined ? "" : ` ${threadName(this.run, thread)}`;
      const text = `${letter}:${name}, line ${step.line}, step ${number + 1}`;
      buttons.append(this.button(text, number));
    }
  }

  button(text, step) {
    const button = element("button", "go", text);
    button.type = "button";
    button.dataset.step = step;
    button.addEventListener("click", () => this.onGo(step));
    return button;
  }

  adviceItem(finding) {
    const item = element("li", "", "");
    const place = element("b", "", `line ${finding.line}: `);
    item.append(place, document.createTextNode(`${finding.message} `));
    if (finding.step >= 0) item.append(this.button(`Show step ${finding.step + 1}`, finding.step));
    return item;
  }

  show(position) {
    for (const { finding, card } of this.cards) {
      const here = findingsAt(this.run, position).includes(finding);
      card.classList.toggle("here", here);
      card.classList.toggle("brief", !here && this.cards.length > 1);
      for (const button of card.querySelectorAll("button")) {
        const pressed = Number(button.dataset.step) === position;
        button.setAttribute("aria-pressed", String(pressed));
      }
    }
  }
}

/** What to say at a step that belongs to findings; "" for all other steps. */
function verdictAt(run, position) {
  return findingsAt(run, position)
    .map((finding) => `${capitalised(finding.kind)}: ${verdictOf(run, finding, position)}.`)
    .join(" ");
}

function verdictOf(run, finding, position) {
  if (finding.other === undefined || finding.other < 0) return firstClause(finding.message);
  const [a, b] = finding.threads.map((thread) => threadName(run, thread));
  const what = elementName(run.steps[finding.step].array, run.steps[finding.step].marked[0]);
  if (finding.other === position && finding.step !== position) {
    return `B (${b}) is at ${what} here; A (${a}) comes in step ${finding.step + 1}. Nothing puts ` +
      "them in order: on a GPU, A may come before B";
  }
  if (finding.other === position) return `A (${a}) and B (${b}) are both at ${what} here`;
  return `A (${a}) is at ${what} here, as B (${b}) was in step ${finding.other + 1}. Nothing puts ` +
    "them in order: on a GPU, A may come before B";
}

/** The message up to where it begins to explain. */
function firstClause(message) {
  return message.split(/; |: |\. /)[0].replace(/\.$/, "");
}
