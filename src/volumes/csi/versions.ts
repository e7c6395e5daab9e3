/** Decides which version of the interface a driver is used with. */
import { goQuote } from '../../kube/index.js';

/** A version as its numbers: `v1.2` is [1, 2]. */
export type CsiVersion = readonly number[];

export function parseVersion(text: string): CsiVersion | undefined {
  const [, numbers] = /^\s*v?(\d+(?:\.\d+)+)/.exec(text) ?? [];
  return numbers?.split('.').map(Number);
}

export function compareVersions(a: CsiVersion, b: CsiVersion): number {
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

export type ChosenVersion =
  | { readonly kind: 'version'; readonly version: string }
  | { readonly kind: 'refused'; readonly problem: string };

/** The highest version of a major that this node knows, which must be 1. */
export function chooseVersion(versions: readonly string[]): ChosenVersion {
  if (versions.length === 0) {
    return { kind: 'refused', problem: 'Plugin returned an empty list for supported versions' };
  }
  let best: { readonly text: string; readonly version: CsiVersion } | undefined;
  const unparsable: string[] = [];
  for (const text of versions) {
    const version = parseVersion(text);
    if (version === undefined) unparsable.push(`could not parse ${goQuote(text)} as version`);
    else if ((version[0] ?? 0) <= 1 && (best === undefined || compareVersions(version, best.version) > 0))
      best = { text, version };
  }
  const none = (why: string): ChosenVersion => ({
    kind: 'refused',
    problem: `None of the versions specified [${versions.map(goQuote).join(' ')}] are supported. err=${why}`,
  });
  if (best === undefined) {
    return none(
      `could not find a highest supported version from versions ([${versions.join(' ')}]) reported: [${unparsable.join(' ')}]`,
    );
  }
  return best.version[0] === 1
    ? { kind: 'version', version: best.text }
    : none(`highest supported version reported is ${best.text}, must be v1.x`);
}
