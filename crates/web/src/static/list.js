// The list of waiting questions. While it is visible, no row moves by itself: new rows wait behind a button. The search filters while one
// types.
"use strict";
(() => {
  const { find, all, hidden, load, own } = askbox;
  const live = find("#live");
  const cards = (root) => new Map(all(".card", root).map((card) => [card.dataset.key, card]));
  const bar = document.createElement("button");
  bar.type = "button";
  bar.className = "primary news";
  bar.hidden = true;
  live.after(bar);
  let waiting = null;

  // Puts fresh content in place. Chosen rows stay chosen.
  const show = (fresh) => {
    const chosen = all("input:checked", live).map((box) => box.value);
    const before = cards(live);
    waiting = null;
    bar.hidden = true;
    live.replaceChildren(...fresh.childNodes);
    all("input[type=checkbox]", live).forEach((box) => (box.checked = chosen.includes(box.value)));
    return all(".card", live).find((card) => !before.has(card.dataset.key));
  };
  bar.addEventListener("click", () => {
    const first = show(waiting);
    first?.scrollIntoView({ block: "nearest" });
    find("a", first ?? live)?.focus({ preventScroll: true });
  });

  own.takes = (fresh) => {
    const shown = cards(live);
    if (hidden() || !shown.size) {
      show(fresh);
      return true;
    }
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
    const notes = (root) => find(".notes", root)?.textContent ?? "";
    waiting = fresh;
    bar.textContent = added ? `${added} new` : gone ? `${gone} over` : "Show the changes";
    bar.hidden = !added && !gone && notes(fresh) === notes(live);
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
      show(fresh);
    }, 150);
  });
})();
