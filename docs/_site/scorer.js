// How the site's search orders what it finds.  Sphinx asks that a page has every word of a question.
// Here a page is found by each of them: a word counts by how few pages have it, and counts for more
// in a title, and for most among the words that docs/_site/finding.py gives a page.
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

  score: ([page, , anchor, , score, , kind]) => {
    const words = asked();
    const known = MEANT(page);
    const all = [...words.values()].reduce((sum, each) => sum + each, 0);
    const meant = [...words].reduce((sum, [word, rare]) => sum + (known.has(word) ? rare : 0), 0);
    const share = all ? meant / all : 0;
    const points = Object.entries(KINDS).find(([start]) => page.startsWith(start));
    const own = kind === "text" ? score : score / 2;
    return own + 60 * share * share + (points ? points[1] : 0) - (anchor ? 1 : 0);
  },
};

const stems = new Map();
const stem = (word) => {
  if (!stems.has(word)) stems.set(word, new Stemmer().stemWord(word));
  return stems.get(word);
};
const meant = new Map();
const MEANT = (page) => {
  if (!meant.has(page)) meant.set(page, new Set((WORDS[page] ?? []).map(stem)));
  return meant.get(page);
};
const files = (table, word) => (Object.hasOwn(table, word) ? [table[word]].flat() : []);

// The words of the question, without those that no page has, and how rare each is.
const asked = () => {
  const typed = document.querySelector('input[name="q"]')?.value.toLowerCase() ?? "";
  const pages = Search._index.docnames;
  const found = new Map();
  for (const word of splitQuery(typed).filter((each) => !stopwords.has(each)).map(stem)) {
    const having = new Set([...files(Search._index.terms, word), ...files(Search._index.titleterms, word)]);
    pages.forEach((page, place) => MEANT(page).has(word) && having.add(place));
    if (having.size) found.set(word, Math.log(1 + pages.length / having.size));
  }
  return found;
};

document.addEventListener("DOMContentLoaded", () => {
  const whole = Search.performTermsSearch;
  Search.performTermsSearch = (terms, excluded) => {
    const words = asked();
    if (!words.size) return whole(terms, excluded); // parts of words
    const { docnames, titles, filenames, terms: text, titleterms } = Search._index;
    const total = [...words.values()].reduce((sum, each) => sum + each, 0);
    const points = new Map();
    const add = (file, part) => points.set(file, (points.get(file) ?? 0) + (20 * part) / total);
    for (const [word, rare] of words) {
      const named = new Set(files(titleterms, word));
      new Set([...named, ...files(text, word)]).forEach((file) => add(file, named.has(file) ? rare : rare / 2));
      docnames.forEach((page, file) => MEANT(page).has(word) && add(file, rare / 2));
    }
    const without = new Set([...excluded].flatMap((word) => files(text, word)));
    return [...points]
      .filter(([file, each]) => each >= 4 && !without.has(file))
      .map(([file, each]) => [docnames[file], titles[file], "", null, each, filenames[file], SearchResultKind.text]);
  };
});
