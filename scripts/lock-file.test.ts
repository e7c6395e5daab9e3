/** The lock file serves `npm ci` on every platform, from any registry. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

interface Locked {
  readonly version?: string;
  readonly resolved?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const text = readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8');
const { packages }: { packages: Readonly<Record<string, Locked>> } = JSON.parse(text);

it('holds every optional package, also those of other platforms, as npm ci refuses a lock file without them', () => {
  const missing = Object.entries(packages).flatMap(([of, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => packages[`node_modules/${name}`] === undefined)
      .map((name) => `${name} of ${of}`),
  );
  expect(missing).toEqual([]);
});

it('names no registry', () => {
  expect(Object.values(packages).filter(({ resolved }) => resolved !== undefined)).toEqual([]);
  expect(text).not.toMatch(/https?:\/\/[^"]*\.tgz/);
});
