/** A real Chromium for tests of the page, and what went wrong in it. */
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

/** Where Debian's package has it. */
export const browserPath = '/usr/bin/chromium';

export function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: browserPath,
    headless: true,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

export interface OpenedPage {
  readonly page: Page;
  /** Errors of scripts, refusals of the security policy, failed requests for files of the page. */
  readonly faults: string[];
}

/** Opens an address in a browser of its own. */
export async function openPage(
  browser: Browser,
  address: string,
  options: BrowserContextOptions = {},
): Promise<OpenedPage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => {
    // What the browser says of an answer that is no success, such as that of a node that is gone, is no fault.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      faults.push(message.text());
  });
  page.setDefaultTimeout(30_000);
  await page.goto(address);
  return { page, faults };
}
