"use strict";
/* What the page knows beyond the verdict: likely kinds of errors with repairs, segments, explanations. */

levelhead.readFindings = async (audit) => {
  const UNKNOWN = "unknown", found = audit.diagnosis;
  const of = found && await levelhead.unpack(found.of), kind = found && await levelhead.unpack(found.kind);
  const repaired = found && await levelhead.unpack(found.repaired);
  const texts = found ? (await levelhead.unpackText(found.texts)).split("\n") : [];
  const place = new Map(found ? Array.from(of, (label, at) => [label, at]) : []);
  const segments = await Promise.all(audit.segments.map(async ({ where, text, rows }) => ({ where, text, rows: await levelhead.unpack(rows) })));
  const inside = segments.map(({ rows }) => new Set(rows));

  const kindOf = (label) => (place.has(label) ? found.kinds[kind[place.get(label)]] : "");
  const named = (label) => place.has(label) && kindOf(label) !== UNKNOWN;

  return {
    kinds: found ? found.kinds : [], segments, kindOf,
    textOf: (label) => (place.has(label) ? texts[place.get(label)] : ""),
    /* The repaired label, if the kind of the error is known. */
    repairOf: (label) => (named(label) ? repaired[place.get(label)] : undefined),
    inSegment: (label, segment) => inside[segment].has(label),
    explanationOf: (label) => audit.explanations[label],
  };
};
