/** Keeps the table of rooms in `docs/architecture.md` equal to `ls src` and to the import rules. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { allowedRooms } from './imports/rules.js';

const rooms = readdirSync(new URL('../src', import.meta.url), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort();

const page = readFileSync(new URL('../docs/architecture.md', import.meta.url), 'utf8');

/** The last column of each room, in words. */
const importersInWords = new Map(
  page
    .slice(page.indexOf('\n## The rooms\n'))
    .split('\n')
    .flatMap((line): [string, string][] => {
      const [, room, words] = /^\|\s*`([^`]+)`\s*\|[^|]+\|\s*([^|]+?)\s*\|$/.exec(line) ?? [];
      return room === undefined || words === undefined ? [] : [[room, words]];
    }),
);

/** The rooms that a sentence such as "**The top** is `kubelet`, …" names. */
function group(name: string): readonly string[] {
  const [, members = ''] = new RegExp(`\\*\\*The ${name}\\*\\* (?:is|are) ([^.]+)\\.`).exec(page) ?? [];
  return roomsIn(members);
}

function roomsIn(words: string): readonly string[] {
  return [...words.matchAll(/`([^`]+)`/g)].map(([, room = '']) => room);
}

function importers(room: string, words: string): string[] {
  const except = words.startsWith('all rooms except');
  const named = [
    ...roomsIn(words),
    ...(words.includes('the peers') ? group('peers') : []),
    ...(words.includes('the top') ? group('top') : []),
  ];
  return rooms.filter((other) => other !== room && named.includes(other) !== except);
}

it('the table has every room of src, and no other', () => {
  expect([...importersInWords.keys()].sort()).toEqual(rooms);
});

it('the table says who may import a room as the import rules do', () => {
  const told = Object.fromEntries(
    [...importersInWords].map(([room, words]) => [room, importers(room, words)]),
  );
  const ruled = Object.fromEntries(
    [...importersInWords.keys()].map((room) => [
      room,
      rooms.filter((other) => other !== room && allowedRooms.get(other)?.includes(room)),
    ]),
  );
  expect(told).toEqual(ruled);
});
