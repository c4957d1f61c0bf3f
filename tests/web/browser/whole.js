// All that a person decides on stands above the button that sends the decision, with scripting and without.
"use strict";
const { assert, launch, person, run, signIn } = require("./lib.js");

run(async ({ base, links, questions }) => {
  const browser = await launch();
  for (const size of ["phone", "desk"]) {
    for (const javaScriptEnabled of [true, false]) {
      const page = await person(browser, size, { javaScriptEnabled });
      await signIn(page, base + links.pop(), "desk");
      for (const { place, button, texts } of questions) {
        await page.goto(base + place);
        const send = await page.getByRole("button", { name: button }).boundingBox();
        for (const text of texts) {
          const found = page.getByText(text, { exact: false }).first();
          const about = `${text} (${size}, scripting ${javaScriptEnabled})`;
          const box = await found.boundingBox();
          assert(box && box.y + box.height <= send.y, `${about} is not above the button`);
          // No element around it scrolls by itself or hides what sticks out.
          for (let around = found; (await around.evaluate((element) => element.tagName)) !== "BODY"; around = around.locator("..")) {
            const [tag, hidden] = await around.evaluate((element) => [element.outerHTML.slice(0, 60), element.scrollHeight - element.clientHeight]);
            const clips = await around.evaluate((element) => getComputedStyle(element).overflowY !== "visible");
            assert(!clips || hidden <= 1, `${about}: ${tag} hides ${hidden} pixels`);
          }
        }
      }
      await page.context().close();
    }
  }
  await browser.close();
});
