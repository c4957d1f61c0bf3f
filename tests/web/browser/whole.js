// All that a person decides on stands above the button that sends the decision, with scripting and without. The buttons for a call stay in
// sight beside it.
"use strict";
const { assert, launch, person, run, signIn } = require("./lib.js");

run(async ({ base, links, questions }) => {
  const browser = await launch();
  for (const size of ["phone", "desk"]) {
    for (const javaScriptEnabled of [true, false]) {
      const page = await person(browser, size, { javaScriptEnabled });
      await signIn(page, base + links.pop(), "desk");
      for (const { place, button, texts, isCall } of questions) {
        await page.goto(base + place);
        const buttons = page.getByRole("button", { name: button, exact: true });
        if (isCall) {
          // What decides about a call is in sight from its beginning to its end, and covers nothing of it there.
          const height = await page.evaluate(() => innerHeight);
          for (const name of ["Allow", "Deny"]) {
            const box = await page.getByRole("button", { name, exact: true }).boundingBox();
            assert(box.y > 0 && box.y + box.height <= height, `${name} is out of sight (${size})`);
          }
          await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
        }
        const send = await buttons.boundingBox();
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
      // The page that confirms a changed call shows the whole of it, and nothing that is to be hidden.
      await page.goto(base + questions.find(({ isCall }) => isCall).place);
      await page.locator("summary").filter({ hasText: "Change the call first" }).click();
      await page.locator("#edited").fill("echo changed");
      await page.getByRole("button", { name: "Show the change" }).click();
      await page.getByRole("heading", { name: "like this, one time" }).waitFor();
      for (const text of ["last line of the call", "+echo changed", "In the folder /work"]) await page.getByText(text).waitFor();
      const shown = await page.evaluate(() => [...document.querySelectorAll("[hidden]")].filter((each) => each.getClientRects().length).map((each) => each.outerHTML.slice(0, 60)));
      assert.deepStrictEqual(shown, [], `hidden elements are drawn (${size})`);
      await page.context().close();
    }
  }
  await browser.close();
});
