/** Writes what a soak found: a page with plots, their picture where a browser is there, the samples, and a summary. */
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { browserPath, openBrowser } from '../../test/page/browser.js';
import type { JudgedFigure } from '../judge/figures.js';
import type { SoakOptions } from '../options.js';
import type { Schedule } from '../plan/plan.js';
import type { SoakResult } from '../soak.js';
import { pageOf } from './page.js';
import { summaryOf } from './text.js';

export interface Report {
  readonly options: SoakOptions;
  readonly schedule: Schedule;
  readonly result: SoakResult;
  readonly judged: readonly JudgedFigure[];
}

/** Returns the summary, which also tells where the rest is. */
export async function writeReport(report: Report): Promise<string> {
  const dir = resolve(report.options.reportDir);
  await mkdir(dir, { recursive: true });
  const { result, judged, options, schedule } = report;
  const { journal, samples, points, tookMs, lives, wasBrokenOff } = result;
  const data = {
    options,
    schedule,
    tookMs,
    lives,
    wasBrokenOff,
    judged: judged.map(({ figure, drift }) => ({ figure: figure.name, ...drift })),
    findings: journal.findings,
    remarks: journal.remarks,
    events: journal.events,
    counts: Object.fromEntries(journal.counts),
    points,
    samples: samples.rows,
  };
  const summary = summaryOf(report);
  const page = join(dir, 'report.html');
  await writeFile(page, pageOf(report));
  await writeFile(join(dir, 'samples.json'), JSON.stringify(data));
  await writeFile(join(dir, 'summary.txt'), `${summary}\n`);
  const picture = await takePicture(page, join(dir, 'report.png'));
  return `${summary}\nreport: ${page}${picture ? ' and report.png' : ' (no browser for a picture)'}`;
}

async function takePicture(page: string, path: string): Promise<boolean> {
  if (!existsSync(browserPath)) return false;
  const browser = await openBrowser();
  try {
    const shown = await browser.newPage({ viewport: { width: 1320, height: 900 } });
    await shown.goto(pathToFileURL(page).href);
    await shown.screenshot({ path, fullPage: true });
    return true;
  } finally {
    await browser.close();
  }
}
