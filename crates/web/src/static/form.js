// Drafts and forms: what was filled in is kept in the browser until it was sent. A form is sent only while its server is there.
"use strict";
(() => {
  const { find, all, store, look } = askbox;
  const form = find("form[data-draft]");
  const key = "draft:" + form?.dataset.draft;
  const isChoice = (field) => /radio|checkbox/.test(field.type);
  const fields = () => all("textarea, input:not([type=hidden])", form).filter((field) => !field.name.startsWith("m"));
  // The text of a call belongs to the draft only once it is changed.
  const isCall = (field) => field.dataset.call !== undefined;
  const isFilled = (field) => (isChoice(field) ? field.checked : isCall(field) ? field.value !== field.defaultValue : field.value);
  const keep = () => {
    const draft = fields().filter(isFilled).map((field) => [field.name, field.value]);
    store((box) => (draft.length ? box.setItem(key, JSON.stringify(draft)) : box.removeItem(key)));
  };
  const restore = () => {
    const draft = store((box) => JSON.parse(box.getItem(key) || "[]")) || [];
    // The draft replaces the values that the form already contains.
    for (const field of draft.length ? fields() : []) {
      if (isChoice(field)) field.checked = false;
      else if (!isCall(field)) field.value = "";
    }
    for (const [name, value] of draft) {
      const field = fields().find((field) => field.name === name && (field.value === value || !isChoice(field)));
      if (!field) continue;
      if (isChoice(field)) field.checked = true;
      else field.value = value;
      field.closest("details")?.setAttribute("open", "");
    }
  };
  if (form) {
    // A form that the server sent back contains all of it.
    if (!find("[data-focus]")) restore();
    form.addEventListener("input", (event) => {
      form.dataset.typed = 1;
      const group = event.target.dataset.words;
      const own = group && event.target.value && find(`input[type=radio][name=${group}][value=words]`, form);
      if (own) own.checked = true;
      keep();
    });
    // Ctrl+Enter in a text presses its button. A button out of sight is only shown, because everything above it is to be seen first. It
    // never allows a tool call.
    form.addEventListener("keydown", (event) => {
      const isMeant = event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.repeat;
      if (!isMeant || !event.target.matches("textarea, input[type=text]")) return;
      const button = find("button", event.target.closest("details.other") ?? find(".actions", form));
      if (!button || button.dataset.approves !== undefined) return;
      event.preventDefault();
      const box = button.getBoundingClientRect();
      if (box.top >= 0 && box.bottom <= innerHeight) return button.click();
      button.scrollIntoView({ block: "center" });
      button.focus();
    });
  }

  // A second press must not send a second answer. A form that cannot be sent stays, instead of the browser's page about an error.
  const state = new WeakMap();
  const tellUnsent = (button) => {
    find(".unsent")?.remove();
    const said = document.createElement("p");
    said.className = "problem unsent";
    said.setAttribute("role", "alert");
    said.textContent = "Not sent: the page is not connected. What you filled in is kept here.";
    (button ?? document.activeElement).closest("p, form").before(said);
  };
  document.addEventListener("submit", async (event) => {
    const { target: sent, submitter } = event;
    if (sent.method !== "post" || event.defaultPrevented) return;
    if (state.get(sent) === "checked") return state.set(sent, "sent");
    event.preventDefault();
    if (state.has(sent)) return;
    state.set(sent, "asked");
    try {
      await look();
      state.set(sent, "checked");
      sent.requestSubmit(submitter);
    } catch {
      state.delete(sent);
      tellUnsent(submitter);
    }
  });
  addEventListener("pageshow", () => all("form").forEach((form) => state.delete(form)));
})();
