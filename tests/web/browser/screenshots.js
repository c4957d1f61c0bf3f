// The pictures of the guide.
"use strict";
const { launch, person, run, signIn, sizes } = require("./lib.js");

const smaller = require("./png.js");

run(async ({ base, links, pictures, folder }) => {
  const browser = await launch();
  for (const [name, size, height, colorScheme, path, act] of pictures) {
    const page = await person(browser, size, { colorScheme, deviceScaleFactor: size === "phone" ? 2 : 1, viewport: { ...sizes[size].viewport, ...(height && { height }) } });
    await signIn(page, base + links.pop());
    await page.goto(base + path.split("#")[0]);
    if (act) await page.getByText(act, { exact: true }).first().click();
    // The picture shows the page as it is read, without a focus or a caret.
    await page.evaluate(() => document.activeElement?.blur());
    await page.waitForTimeout(200);
    const picture = smaller(await page.screenshot({ animations: "disabled" }));
    require("fs").writeFileSync(`${folder}/${name}.png`, picture);
    await page.context().close();
  }
  await browser.close();
});
