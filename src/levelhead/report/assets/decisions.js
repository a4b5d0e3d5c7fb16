"use strict";
/* Decisions about labels: saved in the browser, undone, written to CSV. */

levelhead.makeDecisions = (digest) => {
  const KEY = `levelhead:decisions:${digest}`;
  const KINDS = ["keep", "fix", "drop"];
  const made = new Map(); // label → {kind, value}
  const before = []; // for undo: lists of [label, what was there]
  let kept = true;

  function load() {
    let stored;
    try { stored = JSON.parse(levelhead.memory.get(KEY) ?? "{}"); } catch { stored = {}; }
    for (const [label, [kind, value]] of Object.entries(stored))
      if (KINDS.includes(kind)) made.set(Number(label), kind === "fix" ? { kind, value } : { kind });
    kept = levelhead.memory.set(KEY, JSON.stringify(stored));
  }

  function store() {
    const entries = [...made].map(([label, { kind, value }]) => [label, kind === "fix" ? [kind, value] : [kind]]);
    kept = levelhead.memory.set(KEY, JSON.stringify(Object.fromEntries(entries)));
  }

  function put(label, decision) { if (decision) made.set(label, decision); else made.delete(label); }

  /* One step for undo; `decide` returns the decision for each label, or null for none. */
  function change(labels, decide) {
    before.push(Array.from(labels, (label) => [label, made.get(label)]));
    for (const label of labels) put(label, decide(label));
    store();
  }

  /* Another value for a label that is to be fixed: part of the same step. */
  function amend(label, decision) { put(label, decision); store(); }

  function undo() {
    const step = before.pop();
    if (!step) return [];
    for (const [label, decision] of step) put(label, decision);
    store();
    return step.map(([label]) => label);
  }

  function count(kind) {
    let n = 0;
    for (const decision of made.values()) if (decision.kind === kind) n++;
    return n;
  }

  load();
  return { get: (label) => made.get(label), made, change, amend, undo, count,
           get canUndo() { return before.length > 0; }, get kept() { return kept; } };
};

levelhead.csv = (() => {
  // The start of a cell that a spreadsheet reads as a formula, also after blanks and invisible characters; numbers are
  // not formulas. The same rule as in `cli/output.py`.
  const FORMULA = /^([\p{C}\p{Z}\p{M}]*[=+\-@|%]|[\t\n])/u;
  const NUMBER = /^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$/;

  function cell(value) {
    if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
    let text = String(value ?? "").replace(/\r\n?/g, "\n");
    if (FORMULA.test(text.normalize("NFKC")) && !NUMBER.test(text)) text = `'${text}`;
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  function line(cells) { return cells.map(cell).join(",") + "\n"; }

  function download(name, lines) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(lines, { type: "text/csv;charset=utf-8" }));
    link.download = name;
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }

  return { line, download };
})();
