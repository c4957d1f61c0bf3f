// The rows of waiting questions, of answered ones and of the tree. While they are visible, no row moves by itself: new rows wait behind a
// button. The search filters while one types.
"use strict";
(() => {
  const { find, all, hidden, home, load, own, tellHeldUp } = askbox;
  const live = find("#live");
  // Rows with this mark are replaced whole, and other pages of them are not listed below.
  const isWhole = live.dataset.rows !== undefined;
  const cards = (root) => new Map(all("[data-key]", root).map((card) => [card.dataset.key, card]));
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
    return all("[data-key]", live).find((card) => !before.has(card.dataset.key));
  };
  bar.addEventListener("click", () => {
    const first = show(waiting);
    first?.scrollIntoView({ block: "nearest" });
    find("a", first ?? live)?.focus({ preventScroll: true });
  });

  const fill = (element, other) => {
    const active = document.activeElement;
    const href = element.contains(active) && active.getAttribute("href");
    element.replaceChildren(...other.cloneNode(true).childNodes);
    if (href) all("a", element).find((link) => link.getAttribute("href") === href)?.focus({ preventScroll: true });
  };
  // Takes in what has changed in a row. Returns true if some of it must wait, because the row would become higher or lower.
  const update = (card, fresh) => {
    if (isWhole) {
      if (card.innerHTML === fresh.innerHTML) return false;
      const [before, height] = [card.cloneNode(true), card.offsetHeight];
      fill(card, fresh);
      if (card.offsetHeight === height) return false;
      fill(card, before);
    }
    fill(find(".meta", card), find(".meta", fresh));
    return isWhole;
  };

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
    const isAll = !find(".pages", fresh) && !("newest" in live.dataset);
    let [gone, grown] = [0, 0];
    for (const [key, card] of shown) {
      const is = now.get(key);
      if (is) grown += update(card, is);
      const isOver = !is && isAll;
      card.classList.toggle("over", isOver);
      gone += isOver;
    }
    const added = [...now.keys()].filter((key) => !shown.has(key)).length;
    waiting = [fresh, other];
    bar.textContent = added ? `${added} new` : gone ? `${gone} over` : "Show the changes";
    bar.hidden = !added && !gone && !grown && isSameAbove;
    return true;
  };

  const field = find("#find");
  let typed = 0;
  const searchIn = (time) => {
    clearTimeout(typed);
    typed = setTimeout(search, time);
  };
  const search = async () => {
    const query = new URLSearchParams(location.search);
    query.set("find", field.value);
    query.delete("page");
    const path = home + "/?" + query;
    const other = await load(path).catch(() => null);
    if (query.get("find") !== field.value) return;
    const fresh = other && find("#live", other);
    // The request failed or took too long. Without another one, the rows would still show an earlier word.
    if (!fresh) return searchIn(2000);
    history.replaceState(null, "", path);
    show([fresh, other]);
  };
  field?.addEventListener("input", () => searchIn(150));
})();
