// The rows of the answered questions and of the tree change in their place, and new rows wait.
"use strict";
const { assert, launch, person, run, signIn } = require("./lib.js");
const { execFileSync } = require("child_process");

run(async ({ base, link, post, answer }) => {
  const browser = await launch();
  const page = await person(browser, "phone");
  await signIn(page, base + link, "ann's phone");
  const place = async (row) => (await row.boundingBox()).y;
  // The answered questions: a row changes its state where it is, and a new one waits.
  await page.goto(base + "/done");
  const first = page.locator(".card", { hasText: "Merge part 1?" });
  await first.locator(".mark", { hasText: "answered" }).waitFor();
  const before = await place(first);
  execFileSync(answer, ["docs-2", "yes"]);
  const bar = page.getByRole("button", { name: "1 new" });
  await bar.waitFor();
  assert.strictEqual(await place(first), before);
  assert.strictEqual(await page.locator(".card").count(), 1);
  await bar.click();
  await page.locator(".card", { hasText: "Merge part 2?" }).waitFor();
  assert.strictEqual(await page.locator(".news:not([hidden])").count(), 0);
  // The tree: a branch that is over stays, and a new one waits.
  await page.goto(base + "/tree");
  const third = page.locator(".branch", { hasText: "docs-3" });
  const still = await place(third);
  execFileSync(post, ["-w", "a-first", "The first of all?", "--priority", "9"]);
  await page.getByRole("button", { name: "1 new" }).waitFor();
  assert.strictEqual(await place(third), still);
  execFileSync(answer, ["cancel", "docs-3"]);
  await page.locator(".branch.over", { hasText: "docs-3" }).waitFor();
  assert.strictEqual(await place(third), still);
  await page.getByRole("button", { name: "1 new" }).click();
  await page.locator(".branch", { hasText: "a-first" }).waitFor();
  assert.strictEqual(await page.locator(".branch", { hasText: "docs-3" }).count(), 0);
  assert.deepStrictEqual(page.complaints, []);
  await browser.close();
});
