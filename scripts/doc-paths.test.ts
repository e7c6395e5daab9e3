/** Keeps the pages for people right: every relative link and every path of a file or directory leads to something. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { allowedRooms } from './imports/rules.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const pages = ['.', 'docs', 'bench', 'examples', 'fuzz', 'simulation', 'soak', 'test/env'].flatMap((dir) =>
  readdirSync(path.join(root, dir))
    .filter((name) => name.endsWith('.md'))
    .map((name) => path.join(dir, name)),
);

const topDirectories = ['src', 'test', 'scripts', 'bench', 'fuzz', 'simulation', 'soak', 'docs', 'examples'];

/** Where a path in backticks leads: from the root, or from `src/` when it begins with a room. */
function target(written: string): string | undefined {
  const [first = ''] = written.split('/');
  if (topDirectories.includes(first)) return written;
  return allowedRooms.has(first) ? path.join('src', written) : undefined;
}

/** What a page names that is not there. */
function missing(page: string): string[] {
  const text = readFileSync(path.join(root, page), 'utf8');
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = '']) => link.replace(/#.*$/, ''))
    .filter((link) => link !== '' && !/^\w+:/.test(link))
    .map((link) => path.join(path.dirname(page), link));
  const named = [...text.matchAll(/`([\w.-]+(?:\/[\w.-]+)+\/?)`/g)].flatMap(([, written = '']) => {
    const place = target(written);
    return place === undefined ? [] : [place];
  });
  return [...links, ...named].filter((place) => !existsSync(path.join(root, place)));
}

it.each(pages)('%s names only files and directories that exist', (page) => {
  expect(missing(page)).toEqual([]);
});
