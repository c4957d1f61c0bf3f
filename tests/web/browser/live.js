// The dialogs of a session come one after the other, and a person answers each on a phone. Each dialog has its pictures.
"use strict";
const { assert, barriers, launch, layout, person, run, signIn } = require("./lib.js");
const smaller = require("./png.js");

run(async ({ base, link, dialogs, folder }) => {
  const browser = await launch();
  const page = await person(browser, "phone", { viewport: { width: 390, height: 844 } });
  const draw = async (name) => {
    await page.evaluate(() => scrollTo(0, 0));
    // The buttons of a call stay at the end of the screen, and a picture shows the whole page.
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    await page.setViewportSize({ width: 390, height });
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await page.waitForTimeout(200);
      const picture = smaller(await page.screenshot({ animations: "disabled", fullPage: true }));
      require("fs").writeFileSync(`${folder}/${name}-${colorScheme}.png`, picture);
    }
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 390, height: 844 });
    assert.deepStrictEqual(await layout(page), { wide: false, small: [] });
    assert.deepStrictEqual((await barriers(page)).serious, []);
  };
  await signIn(page, base + link);
  for (const { title, heading, picture, option, button } of dialogs) {
    // The inbox shows it by itself, however long the person has waited.
    await page.getByRole("link", { name: title }).click();
    await page.locator("h1").filter({ hasText: heading ?? title }).waitFor();
    await page.getByText(option, { exact: true }).click();
    await page.evaluate(() => document.activeElement?.blur());
    await draw(picture);
    await page.getByRole("button", { name: button, exact: true }).click();
    await page.waitForURL(/#outcome$/);
    await page.locator(".steps li.done .step").filter({ hasText: "delivered" }).waitFor();
    // There may be a next question by now.
    if (title === dialogs[0].title) await draw("live-delivered");
    await page.goto(base + "/");
  }
  assert.deepStrictEqual(page.complaints, []);
  await browser.close();
});
