/** Checks what a browser shows with axe: names, roles, order of headings, contrast, sizes of targets. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What the tests read of the results of axe. */
interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
  readonly passes: readonly { readonly id: string }[];
}

export interface Accessibility {
  /** One line for each element and rule that it breaks. */
  readonly violations: readonly string[];
  /** The rules that something was held against and kept. */
  readonly kept: readonly string[];
}

/** Through the protocol of the browser's own tools, so that the security policy of the page stays as it is. */
export async function checkAccessibility(page: Page): Promise<Accessibility> {
  const session = await page.context().newCDPSession(page);
  try {
    await session.send('Runtime.evaluate', { expression: source });
    const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
      expression: `axe.run(document, { rules: { 'target-size': { enabled: true } }, resultTypes: ['violations', 'passes'] })`,
      awaitPromise: true,
      returnByValue: true,
    });
    if (exceptionDetails !== undefined)
      throw new Error(`axe failed: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
    const { violations, passes }: AxeResults = result.value;
    return {
      violations: violations.flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary = '' }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
      ),
      kept: passes.map(({ id }) => id),
    };
  } finally {
    await session.detach();
  }
}
