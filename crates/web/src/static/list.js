// The list of waiting questions. While it is visible, no row moves by itself: new rows wait behind a button. The search filters while one
// types.
"use strict";
(() => {
  const { find, all, hidden, load, own, tellHeldUp } = askbox;
  const live = find("#live");
  const cards = (root) => new Map(all(".card", root).map((card) => [card.dataset.key, card]));
  const bar = document.createElement("button");
  bar.type = "button";
  bar.className = "primary news";
  bar.hidden = true;
  live.after(bar);
  let waiting = null;

  // Puts fresh content in place. Chosen rows stay chosen.
  const show = ([fresh, other]) => {
    const chosen = all("input:checked", live).map((box) => box.value);
    const before = cards(live);
    waiting = null;
    bar.hidden = true;
    tellHeldUp(other);
    live.replaceChildren(...fresh.childNodes);
    all("input[type=checkbox]", live).forEach((box) => (box.checked = chosen.includes(box.value)));
    return all(".card", live).find((card) => !before.has(card.dataset.key));
  };
  bar.addEventListener("click", () => {
    const first = show(waiting);
    first?.scrollIntoView({ block: "nearest" });
    find("a", first ?? live)?.focus({ preventScroll: true });
  });

  // The words above the rows, without their times.
  const above = (root) => [find("#held-up", root), find(".notes", root)].map((words) => words?.textContent.replace(/\d+\w*/g, "")).join();
  own.takes = (fresh, other) => {
    const shown = cards(live);
    if (hidden() || !shown.size) {
      show([fresh, other]);
      return true;
    }
    const isSameAbove = above(document) === above(other);
    if (isSameAbove) tellHeldUp(other);
    const now = cards(fresh);
    // A row may also be missing because newer ones have pushed it to the next page.
    const isWhole = !find(".pages", fresh);
    let gone = 0;
    for (const [key, card] of shown) {
      const is = now.get(key);
      if (is) find(".meta", card).replaceChildren(...find(".meta", is).cloneNode(true).childNodes);
      const isOver = !is && isWhole;
      card.classList.toggle("over", isOver);
      gone += isOver;
    }
    const added = [...now.keys()].filter((key) => !shown.has(key)).length;
    waiting = [fresh, other];
    bar.textContent = added ? `${added} new` : gone ? `${gone} over` : "Show the changes";
    bar.hidden = !added && !gone && isSameAbove;
    return true;
  };

  const field = find("#find");
  let typed = 0;
  field?.addEventListener("input", () => {
    clearTimeout(typed);
    typed = setTimeout(async () => {
      const query = new URLSearchParams(location.search);
      query.set("find", field.value);
      query.delete("page");
      const path = "/?" + query;
      const other = await load(path).catch(() => null);
      const fresh = other && find("#live", other);
      if (!fresh || query.get("find") !== field.value) return;
      history.replaceState(null, "", path);
      show([fresh, other]);
    }, 150);
  });
})();
