"use strict";
/* The details of one label: the expected label, its neighbours, and the decision. */

/*
data: columns of the audit (given, predicted, …), cells(label), rowOf(label), nameOf(label), neighbours(label), table
events: decide(label, kind, value), choose(label), leave()
*/
levelhead.makeDetail = (element, data, decisionOf, events) => {
  const h = levelhead.element, format = levelhead.format;
  const WORDS = ["fully trusted", "in doubt", "flagged"];
  const TYPOS = [["÷ 10", 0.1], ["÷ 100", 0.01], ["÷ 1000", 0.001], ["× 10", 10], ["× 100", 100], ["× 1000", 1000], ["sign changed", -1]];
  let shown = -1;
  const noisy = (value, label) => format.withNoise(value, data.std[label]);

  /* Corrections to offer: the likely error, then typing errors whose corrected value is within three standard deviations. */
  function typos(label) {
    const { given, predicted, std, verdict, findings } = data;
    const repair = findings.repairOf(label);
    if (repair !== undefined) return [[`Apply repair, ${findings.textOf(label)}`, repair]];
    if (verdict[label] === 0 || given[label] === 0) return [];
    return TYPOS.map(([name, factor]) => [name, Number((given[label] * factor).toPrecision(12))])
      .filter(([, value]) => Math.abs(value - predicted[label]) <= 3 * std[label]);
  }

  function summary(label) {
    const z = data.z(label), far = format.z(Math.abs(z));
    return `Given ${format.exact(data.given[label])}; expected ${noisy(data.predicted[label], label)} ± ${noisy(data.std[label], label)}. ` +
      `This is ${far} standard deviations too ${z > 0 ? "high" : "low"}; the probability that it is wrong is ${format.chance(data.p[label])}.`;
  }

  function choice(label) {
    const kind = decisionOf(label)?.kind;
    const buttons = levelhead.choiceButtons(h, true);
    for (const button of buttons) {
      button.setAttribute("aria-pressed", button.dataset.decision === kind);
      button.addEventListener("click", () => events.decide(label, button.dataset.decision));
    }
    return h("div", { class: "choice", role: "group", "aria-label": "Decision" }, ...buttons);
  }

  function replacement(label) {
    const decision = decisionOf(label);
    if (decision?.kind !== "fix") return null;
    const wrong = h("span", { class: "wrong", role: "alert", id: "replacement-wrong" });
    const input = h("input", { id: "replacement", type: "text", inputmode: "decimal", "aria-describedby": "replacement-wrong",
      oninput: () => {
        const text = input.value.trim().replace("−", "-"), value = Number(text);
        const fine = text !== "" && Number.isFinite(value);
        input.setAttribute("aria-invalid", !fine);
        wrong.textContent = fine ? "" : "Not a number; the previous value is kept.";
        if (fine) events.decide(label, "fix", value);
      },
      onkeydown: (event) => { if (event.key === "Enter" || event.key === "Escape") { event.preventDefault(); events.leave(); } },
    });
    input.value = String(decision.value);
    return h("div", { class: "replacement" }, h("label", { for: "replacement" }, "Replace with"), input, wrong);
  }

  function suggestions(label) {
    const found = typos(label);
    if (!found.length) return null;
    const chips = found.map(([name, value]) => h("button", { type: "button", onclick: () => { events.decide(label, "fix", value); show(label); } },
      `${name}: ${format.exact(value)}`));
    const words = data.findings.repairOf(label) === undefined ? "A typo? These values would fit:" : "What probably happened:";
    return h("div", {}, h("p", { class: "explanation" }, words), h("div", { class: "chips" }, ...chips));
  }

  function svg(tag, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  /* The given label, the expected label and the labels of the nearest rows on one axis. */
  function strip(label, near) {
    const { given, predicted, std } = data, WIDTH = Math.max(260, element.clientWidth - 36), EDGE = 24;
    const positions = [given[label], predicted[label] - 2 * std[label], predicted[label] + 2 * std[label], ...near.map((other) => given[other])];
    const low = Math.min(...positions), high = Math.max(...positions);
    const x = (value) => EDGE + ((value - low) / (high - low || 1)) * (WIDTH - 2 * EDGE);
    const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} 64`, class: "strip", role: "img", 
      "aria-label": "The given label, the expected label, and the labels of the nearest rows" });
    const band = Math.max(3, x(predicted[label] + 2 * std[label]) - x(predicted[label] - 2 * std[label]));
    drawing.append(svg("rect", { x: x(predicted[label]) - band / 2, y: 18, width: band, height: 22, rx: 4, fill: "var(--wash)", stroke: "var(--blue)", "stroke-width": 1 }));
    drawing.append(svg("line", { x1: EDGE / 2, x2: WIDTH - EDGE / 2, y1: 29, y2: 29, stroke: "var(--line)", "stroke-width": 1 }));
    for (const other of near) drawing.append(svg("circle", { cx: x(given[other]), cy: 29, r: 5, fill: "none", stroke: "var(--soft)", "stroke-width": 1.6 }));
    const at = x(given[label]);
    drawing.append(svg("path", { d: `M${at - 6} 23l12 12m0 -12l-12 12`, stroke: "var(--red)", "stroke-width": 2.6, "stroke-linecap": "round" }));
    const anchor = (place) => (place < 90 ? "start" : place > WIDTH - 90 ? "end" : "middle");
    const nudged = (place) => (place < 90 ? place - 8 : place > WIDTH - 90 ? place + 8 : place);
    drawing.append(svg("text", { x: nudged(x(predicted[label])), y: 12, "text-anchor": anchor(x(predicted[label])) }, `expected ${noisy(predicted[label], label)}`));
    drawing.append(svg("text", { x: nudged(at), y: 58, "text-anchor": anchor(at) }, `given ${format.exact(given[label])}`));
    return drawing;
  }

  /* Which inputs move the expectation away from that of trusted rows. */
  function why(label) {
    const found = data.findings.explanationOf(label);
    if (!found || !found.moved.length) return null;
    const largest = Math.max(...found.moved.map(([, , value]) => Math.abs(value)));
    const rows = found.moved.map(([name, cell, value]) => {
      const bar = h("span", { class: `moved ${value > 0 ? "up" : "down"}` });
      bar.style.width = `${(100 * Math.abs(value)) / largest}%`;
      return h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, cell), h("td", { class: "number" }, (value > 0 ? "+" : "") + noisy(value, label)), h("td", { class: "bar", "aria-hidden": "true" }, bar));
    });
    const head = ["input", "value", "moves it by"].map((text) => h("th", { scope: "col" }, text));
    return h("details", { class: "why", open: "" }, h("summary", {}, `Why is ${noisy(found.expected, label)} expected?`),
      h("p", { class: "explanation" }, `The mean of the expected labels of trusted rows is ${noisy(found.usual, label)}.`),
      h("div", { class: "scroller" }, h("table", { class: "plain" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows))));
  }

  function cellsOf(label) {
    const cells = data.cells(label);
    return cells && data.inputs.map((place) => cells[place]);
  }

  function neighbourRow(label, self) {
    const row = data.rowOf(label);
    const head = self ? row : h("button", { type: "button", onclick: () => events.choose(label) }, row);
    const numbers = [format.exact(data.given[label]), noisy(data.predicted[label], label)];
    return h("tr", self ? { class: "self" } : { "data-near": label, onclick: () => events.choose(label) },
      h("th", { scope: "row" }, head), ...numbers.map((text) => h("td", { class: "number" }, text)), h("td", {}, WORDS[data.verdict[label]]),
      ...(cellsOf(label) ?? []).map((text, at) => h("td", { class: !self && differs(text, at) ? "differs" : null }, text)),
      ...(data.table?.id == null ? [] : [h("td", {}, data.nameOf(label))]));
  }

  /* Whether a cell differs from that of the row in question: by a quarter of the standard deviation, or as text. */
  function differs(text, at) {
    const own = cellsOf(shown)?.[at], spread = data.table.spread[data.inputs[at]];
    if (own === undefined || own === text) return false;
    const distance = Math.abs(Number(text) - Number(own));
    return spread && Number.isFinite(distance) ? distance > spread / 4 : true;
  }

  function neighbours(label, near) {
    const names = cellsOf(label) ? data.inputs.map((place) => data.table.names[place]) : [];
    const identity = data.table?.id == null ? [] : [data.table.names[data.table.id]];
    const header = ["row", data.target, "expected", "verdict", ...names, ...identity].map((text) => h("th", { scope: "col" }, text));
    const rows = [neighbourRow(label, true), ...near.map((other) => neighbourRow(other, false))];
    return h("div", { class: "scroller near", tabindex: "0", role: "region", "aria-label": "This row and its nearest neighbours" },
      h("table", { class: "plain" }, h("thead", {}, h("tr", {}, ...header)), h("tbody", {}, ...rows)));
  }

  function show(label) {
    shown = label;
    const name = data.nameOf(label), near = data.neighbours(label);
    const title = h("h2", { id: "detail-title" }, `Row ${data.rowOf(label)}${name ? ` (${name})` : ""}`,
      h("span", { class: `verdict verdict-${data.verdict[label]}` }, WORDS[data.verdict[label]]));
    element.replaceChildren(...[
      title, h("p", { class: "explanation" }, summary(label)), choice(label), replacement(label), suggestions(label), strip(label, near), why(label),
      h("h3", {}, near.length ? "Nearest trusted rows" : "This row"), neighbours(label, near),
    ].filter(Boolean));
  }

  /* Update only what a decision changes, so that a field keeps the focus while the user types. */
  function refresh(label) {
    if (label !== shown) return;
    const kind = decisionOf(label)?.kind;
    for (const button of element.querySelectorAll("button[data-decision]")) button.setAttribute("aria-pressed", button.dataset.decision === kind);
    const old = element.querySelector(".replacement");
    if (kind === "fix" && old) return;
    old?.remove();
    const made = replacement(label);
    if (made) element.querySelector(".choice").after(made);
  }

  element.addEventListener("keydown", (event) => { if (event.key === "Escape") events.leave(); });

  function edit() {
    const input = element.querySelector("#replacement");
    if (input) { input.focus(); input.select(); }
  }

  return { show, refresh, edit, suggested: (label) => typos(label)[0]?.[1], get shown() { return shown; } };
};
