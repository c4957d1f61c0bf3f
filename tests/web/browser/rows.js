// Rows that a person sees do not move by themselves, and the search filters while one types.
"use strict";
const { assert, barriers, launch, layout, person, run, signIn } = require("./lib.js");
const { execFileSync } = require("child_process");

run(async ({ base, link, post, answer, relaunch }) => {
  const browser = await launch();
  const page = await person(browser, "phone");
  await signIn(page, base + link, "ann's phone");
  const row = (n) => page.locator(".card", { hasText: `Merge part ${n}?` });
  const places = async () => [await row(1).boundingBox(), await row(2).boundingBox(), await row(3).boundingBox()].map(({ y }) => y);
  const before = await places();
  // An urgent question comes first in the list, behind the bar.
  execFileSync(post, ["-w", "urgent", "The first of all?", "--priority", "9"]);
  const bar = page.getByRole("button", { name: "1 new" });
  await bar.waitFor();
  assert.strictEqual(await page.getByRole("link", { name: "The first of all?" }).count(), 0);
  assert.deepStrictEqual(await places(), before);
  // A row that is over stays where it was.
  execFileSync(answer, ["docs-1", "yes"]);
  await page.locator(".card.over", { hasText: "Merge part 1?" }).waitFor();
  assert.deepStrictEqual(await places(), before);
  assert.deepStrictEqual((await barriers(page)).serious, []);
  await bar.click();
  await page.getByRole("link", { name: "The first of all?" }).waitFor();
  assert.strictEqual(await row(1).count(), 0);
  assert.strictEqual(await page.locator(".news:not([hidden])").count(), 0);
  // Words above the rows wait as well, because they would move them.
  const still = (await row(3).boundingBox()).y;
  execFileSync(relaunch, ["pause", "--why", "the API is down for some time, and nobody knows how long"]);
  await page.getByRole("button", { name: "Show the changes" }).waitFor();
  assert.strictEqual((await row(3).boundingBox()).y, still);
  await page.getByRole("button", { name: "Show the changes" }).click();
  await page.getByText("the queue is paused by").waitFor();
  // The search. It also looks at the name of the folder, which is random here, so a mere number would not do.
  await page.getByRole("searchbox").pressSequentially("part 2?");
  // A slow page also shows what "part" alone finds.
  await page.getByRole("link", { name: "The first of all?" }).waitFor({ state: "detached" });
  await row(3).waitFor({ state: "detached" });
  await page.waitForFunction(() => new URL(location).searchParams.get("find") === "part 2?");
  assert.strictEqual(await page.locator(".card").count(), 1);
  // A search that is cut off is made again.
  let times = 0;
  const isCut = (url) => url.searchParams.get("find") === "part 3?";
  await page.route(isCut, (route) => (times++ ? route.continue() : route.abort()));
  await page.getByRole("searchbox").fill("part 3?");
  await row(2).waitFor({ state: "detached" });
  await row(3).waitFor();
  assert.ok(times > 1);
  await page.unroute(isCut);
  page.complaints.length = 0;
  await page.getByRole("searchbox").fill("");
  await row(2).waitFor();
  // Several are chosen, and named before they are declined.
  await page.getByRole("link", { name: "Decline several" }).click();
  await page.getByRole("checkbox", { name: "Decline docs-2" }).check();
  execFileSync(post, ["-w", "later", "One more?"]);
  await page.getByRole("button", { name: "1 new" }).click();
  await page.getByRole("link", { name: "One more?" }).waitFor();
  assert.ok(await page.getByRole("checkbox", { name: "Decline docs-2" }).isChecked());
  await page.getByRole("checkbox", { name: "Decline later" }).check();
  assert.deepStrictEqual(await layout(page), { wide: false, small: [] });
  await page.getByRole("button", { name: "Decline the chosen …" }).click();
  await page.getByRole("heading", { name: "Decline these 2 questions?" }).waitFor();
  assert.deepStrictEqual(await layout(page), { wide: false, small: [] });
  assert.deepStrictEqual((await barriers(page)).serious, []);
  await page.getByRole("button", { name: "Decline these 2 questions" }).click();
  await page.getByRole("heading", { name: "2 of 2 declined" }).waitFor();
  assert.deepStrictEqual(page.complaints, []);
  await browser.close();
});
