// A person on a phone sends a session its next prompt, and reads what it says then.
"use strict";
const { assert, barriers, launch, layout, person, run, signIn } = require("./lib.js");

run(async ({ base, link, words, answer }) => {
  const browser = await launch();
  const page = await person(browser, "phone", { viewport: { width: 390, height: 844 } });
  await signIn(page, base + link);
  await page.getByRole("link", { name: "Sessions" }).click();
  await page.locator("h2 a").first().click();
  const field = page.getByLabel("The next prompt");
  await field.fill(words);
  await page.getByRole("button", { name: "Send" }).dblclick();
  await page.getByText(answer).waitFor();
  await page.getByText("answered", { exact: true }).waitFor();
  assert.strictEqual(await field.inputValue(), "");
  assert.deepStrictEqual(await layout(page), { wide: false, small: [] });
  assert.deepStrictEqual((await barriers(page)).serious, []);
  assert.deepStrictEqual(page.complaints, []);
  await browser.close();
});
