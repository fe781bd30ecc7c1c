// How the site's search orders what it finds.  Sphinx gives a page points for the words of a question
// in its text and title.  Here the page's kind counts, and the words that it is meant to answer, which
// docs/_site/finding.py puts into WORDS when the site is built.
"use strict";

var Scorer = {
  objNameMatch: 30,
  objPartialMatch: 6,
  objPrio: { 0: 10, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,

  score: ([page, title, anchor, , score]) => {
    const asked = document.querySelector('input[name="q"]')?.value ?? "";
    const known = WORDS[page] ?? [];
    const words = asked.toLowerCase().split(/[^\p{L}\p{N}_]+/u).filter((word) => word);
    const meant = words.filter((word) => known.some((each) => each === word || each === word.replace(/s$/, "")));
    const kind = Object.entries(KINDS).find(([start]) => page.startsWith(start));
    const share = words.length ? meant.length / words.length : 0;
    return score / 2 + 60 * share * share + (kind ? kind[1] : 0) - (anchor ? 1 : 0);
  },
};
