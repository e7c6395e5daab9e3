/** Holds `docs/timeline.md` to the table of entry types: every name with its data is there, as the code has it. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const read = (file: string): string => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');
const page = read('docs/timeline.md');

const tables = [
  'pod-entries',
  'plan-actions',
  'plan-reasons',
  'runtime-entries',
  'node-entries',
  'agent-entries',
  'service-entries',
  'entry-data',
].map((name) => `src/timeline/${name}.ts`);

/** One member of a table: its comment, its name or the template of its names, and the type of its data. */
const member =
  /^ {2}\/\*\* (?<about>.+) \*\/\n {2}(?:'(?<quoted>[^']+)'|(?<bare>\w+)|\[\w+: `(?<template>[^`]+)`\]): (?<data>(?:\{[^}]*\}|[^;{}])+);/gm;
const alias = /^(?:export )?type (\w+) =((?:\s+(?:\| )?'\w+')+);/gm;

const aliases = tables.flatMap((file) =>
  [...read(file).matchAll(alias)].map(([, name = '', names = '']) => ({
    name,
    meaning: [...names.matchAll(/'\w+'/g)].join(' | '),
  })),
);

/** As the page shows it: on one line, with the names of types replaced by what they stand for. */
function shownData(type: string): string {
  const fields = /\{\s*([^}]*?);?\s*\}/.exec(type)?.[1]?.replace(/\s+/g, ' ');
  if (fields === undefined) return '–';
  const plain = aliases.reduce((text, { name, meaning }) => text.replaceAll(name, meaning), fields);
  return `\`${plain.replaceAll('|', '\\|')}\`${type.endsWith('| NoData') ? ', or none' : ''}`;
}

function rowsOf(file: string): string[][] {
  return [...read(file).matchAll(member)].map(({ groups = {} }) => {
    const { about = '', quoted, bare, template = '', data = '' } = groups;
    const name = quoted ?? bare ?? template.replace(/\$\{string\}/, '<reason>');
    return [`\`${name}\``, about, shownData(data)];
  });
}

it.each(tables)('docs/timeline.md shows every name of %s', (file) => {
  const text = read(file);
  const [body = ''] = /^export interface \w+(?:Entries|Actions|Reasons)\s[\s\S]*?^}/m.exec(text) ?? [];
  const rows = rowsOf(file);
  expect(rows).toHaveLength([...body.matchAll(/^ {2}(?:'[^']+'|\w+|\[.+?\]): /gm)].length);
  const [, section = ''] = page.split(`\`${file}\`\n`);
  const told = section.slice(0, section.search(/^#|(?![\s\S])/m)).split('\n');
  const shown = told.filter((line) => line.startsWith('| `')).map(cells);
  expect(shown).toEqual(rows);
});

it('docs/timeline.md shows every common field', () => {
  const [, , bodies = ''] =
    /(interface CommonFields)([\s\S]*?)\/\*\* `what` with/.exec(read('src/timeline/entry.ts')) ?? [];
  const names = [...bodies.matchAll(/^ {2}readonly (\w+)/gm)].map(([, name]) => `\`${name}\``);
  const [, section = ''] = page.split('## The common fields\n');
  const told = section.slice(0, section.search(/^#/m)).split('\n');
  const shown = told.filter((line) => line.startsWith('| `')).map((line) => cells(line)[0] ?? '');
  expect(shown.toSorted()).toEqual([...new Set([...names, '`v`', '`what`', '`data`'])].toSorted());
});

it('no name is in the table that nothing records', () => {
  const files = readdirSync(new URL('../src', import.meta.url), { recursive: true, encoding: 'utf8' });
  const code = files
    .filter((file) => /(?<!\.test)\.ts$/.test(file) && !file.startsWith('timeline/'))
    .map((file) => read(`src/${file}`))
    .join('\n');
  const built = [...code.matchAll(/what: `([^`]+)`/g)].map(
    ([, template = '']) =>
      new RegExp(`^${template.replaceAll('.', '\\.').replace(/\$\{[^}]+\}/g, '[\\w.]+')}$`),
  );
  const names = tables.flatMap((file) => rowsOf(file).map(([name = '']) => name.slice(1, -1)));
  const unused = names.filter(
    (name) =>
      !name.startsWith('event.') && !code.includes(`'${name}'`) && !built.some((one) => one.test(name)),
  );
  expect(unused).toEqual([]);
});

/** The cells of a row; a bar that belongs to a cell is escaped. */
function cells(line: string): string[] {
  return line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());
}
