"use strict";
const get = (id) => document.getElementById(id);

// ---------------------------------------------------------------- the lake on the front page

if (get("lake")) {
  const {frames, size} = JSON.parse(get("lake-data").textContent), slider = get("lake-step");
  let timer = 0;
  const show = () => {
    const [step, label, address] = frames[slider.value];
    const words = `step ${step.toLocaleString("en")}` + (label ? `, ${label}` : "");
    get("lake-now").src = address;
    get("lake-words").textContent = words;
    slider.setAttribute("aria-valuetext", words);
  };
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    get("lake-play").textContent = "Play";
  };
  const play = () => {
    slider.value = 0;
    show();
    get("lake-play").textContent = "Stop";
    timer = setInterval(() => {
      if (slider.value === slider.max) return stop();
      slider.value++;
      show();
    }, 500);
  };
  [get("lake-now").width, get("lake-now").height] = size;
  slider.max = slider.value = frames.length - 1;
  slider.addEventListener("input", () => { stop(); show(); });
  get("lake-play").addEventListener("click", () => timer ? stop() : play());
  show();
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) play();
}

// ---------------------------------------------------------------- search

if (get("found")) {
  const query = new URLSearchParams(location.search).get("q") || "";
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [];
  for (const [url, page, heading, text] of words.length ? SECTIONS : []) {
    const head = `${page} ${heading}`.toLowerCase(), all = `${head} ${text}`.toLowerCase();
    if (!words.every((word) => all.includes(word))) continue;
    const points = words.reduce((sum, word) =>
      sum + (head.includes(word) ? 10 : 0) + Math.min(all.split(word).length - 1, 5), 0);
    found.push([points, url, page, heading, text]);
  }
  found.sort((one, other) => other[0] - one[0]);
  document.querySelector("input[type=search]").value = query;
  const count = document.createElement("p");
  count.textContent = words.length ? `${found.length} places with: ${query}` : "Type what you look for, above.";
  get("found").append(count);
  for (const [, url, page, heading, text] of found.slice(0, 50)) {
    const item = document.createElement("p"), link = document.createElement("a");
    link.href = url;
    link.textContent = page === heading ? page : `${page}: ${heading}`;
    const at = Math.max(0, text.toLowerCase().indexOf(words[0]) - 60);
    item.append(link, document.createElement("br"), (at ? "… " : "") + text.slice(at, at + 200));
    get("found").append(item);
  }
}

// ---------------------------------------------------------------- a case for detectives

if (get("case")) {
  const {lines, kinds} = JSON.parse(get("case-data").textContent);
  let answers = 0;
  get("case").addEventListener("submit", (event) => {
    event.preventDefault();
    const given = new FormData(get("case")), line = Number(given.get("line")), kind = given.get("kind");
    if (!line || !kind) {
      get("told").textContent = "Choose a line and a kind.";
      return;
    }
    const place = lines.includes(line), named = kinds.includes(kind);
    const next = place && named ? `Solved, with ${++answers} answer${answers > 1 ? "s" : ""}.` : "";
    answers += next ? 0 : 1;
    get("told").textContent = `Line ${line}: ${place ? "that is the place" : "not here"}. ` +
      `${kind}: ${named ? "yes" : "no"}. ${next || "Try again, or open the answer below."}`;
  });
}
