/** Finds what no part of the node could read in a pod from elsewhere, so that one such pod stops nothing for the others. */
import type { PodManifest } from '../types/pod.js';
import { tryParseQuantity } from '../values/quantity.js';

/** The wrong value is told up to this length. */
const toldLength = 60;

/**
 * The first field that is not what its type promises, such as `spec.volumes[0].emptyDir.sizeLimit is "much", not a
 * quantity`; undefined for a pod that can be read. Covers what decisions about all pods of a node look at: amounts,
 * numbers, names and lists. A server's word is all there is for the rest.
 */
export function unreadableField({ metadata, spec }: PodManifest): string | undefined {
  const grace = 'deletionGracePeriodSeconds';
  const wrongGrace = wholeNumber(`metadata.${grace}`, fieldOf(metadata, grace));
  if (wrongGrace !== undefined || readable.has(spec)) return wrongGrace;
  const found = first(specChecks(spec));
  if (found === undefined) readable.add(spec);
  return found;
}

/** Specs that can be read: most of what a server sends of a pod leaves its spec as it is. Specs are never changed, only replaced. */
const readable = new WeakSet<PodManifest['spec']>();

type Check = string | undefined;

function* specChecks(spec: unknown): Generator<Check> {
  if (!isObject(spec)) {
    yield wrong('spec', spec, 'an object');
    return;
  }
  for (const name of ['priority', 'terminationGracePeriodSeconds', 'activeDeadlineSeconds']) {
    yield wholeNumber(`spec.${name}`, spec[name]);
  }
  yield amounts('spec.overhead', spec.overhead);
  yield* resourceChecks('spec.resources', spec.resources);
  if (spec.containers === undefined) yield wrong('spec.containers', undefined, 'a list');
  for (const name of ['containers', 'initContainers', 'ephemeralContainers']) {
    yield* named(`spec.${name}`, spec[name], (place, container) =>
      resourceChecks(`${place}.resources`, container.resources),
    );
  }
  yield* named('spec.volumes', spec.volumes, function* (place, { emptyDir }) {
    if (emptyDir === undefined) return;
    const limit = fieldOf(emptyDir, 'sizeLimit');
    if (limit !== undefined) yield amount(`${place}.emptyDir.sizeLimit`, limit);
  });
  yield* objects('spec.tolerations', spec.tolerations);
  const { nodeSelector } = spec;
  if (nodeSelector !== undefined && !isObject(nodeSelector)) {
    yield wrong('spec.nodeSelector', nodeSelector, 'an object');
  }
  yield* affinityChecks(spec.affinity);
}

function* resourceChecks(place: string, resources: unknown): Generator<Check> {
  if (resources === undefined) return;
  if (!isObject(resources)) {
    yield wrong(place, resources, 'an object');
    return;
  }
  yield amounts(`${place}.requests`, resources.requests);
  yield amounts(`${place}.limits`, resources.limits);
}

function* affinityChecks(affinity: unknown): Generator<Check> {
  const required = 'requiredDuringSchedulingIgnoredDuringExecution';
  const selector = fieldOf(fieldOf(affinity, 'nodeAffinity'), required);
  if (selector === undefined) return;
  const terms = fieldOf(selector, 'nodeSelectorTerms');
  const place = `spec.affinity.nodeAffinity.${required}.nodeSelectorTerms`;
  if (terms === undefined) yield wrong(place, terms, 'a list');
  yield* objects(place, terms, function* (at, term) {
    for (const kind of ['matchExpressions', 'matchFields']) {
      yield* objects(`${at}.${kind}`, term[kind], function* (within, { key, values }) {
        if (typeof key !== 'string') yield wrong(`${within}.key`, key, 'a text');
        if (values !== undefined && !Array.isArray(values)) yield wrong(`${within}.values`, values, 'a list');
      });
    }
  });
}

/** A list of objects that have names. */
function* named(
  place: string,
  list: unknown,
  more: (place: string, entry: AnyObject) => Iterable<Check>,
): Generator<Check> {
  yield* objects(place, list, function* (at, entry) {
    if (typeof entry.name !== 'string') yield wrong(`${at}.name`, entry.name, 'a name');
    yield* more(at, entry);
  });
}

/** A list of objects, where there is one. */
function* objects(
  place: string,
  list: unknown,
  more: (place: string, entry: AnyObject) => Iterable<Check> = () => [],
): Generator<Check> {
  if (list === undefined) return;
  if (!Array.isArray(list)) {
    yield wrong(place, list, 'a list');
    return;
  }
  for (const [index, entry] of list.entries()) {
    const at = `${place}[${index}]`;
    if (isObject(entry)) yield* more(at, entry);
    else yield wrong(at, entry, 'an object');
  }
}

function amounts(place: string, list: unknown): Check {
  if (list === undefined) return undefined;
  if (!isObject(list)) return wrong(place, list, 'an object');
  return first(Object.entries(list).map(([name, value]) => amount(`${place}[${name}]`, value)));
}

function amount(place: string, value: unknown): Check {
  const isText = typeof value === 'string' || typeof value === 'number';
  return isText && tryParseQuantity(value) !== undefined ? undefined : wrong(place, value, 'a quantity');
}

function wholeNumber(place: string, value: unknown): Check {
  return value === undefined || Number.isSafeInteger(value)
    ? undefined
    : wrong(place, value, 'a whole number');
}

function wrong(place: string, value: unknown, expected: string): string {
  const text = value === undefined ? 'missing' : (JSON.stringify(value) ?? typeof value);
  const told = text.length > toldLength ? `${text.slice(0, toldLength)}…` : text;
  return `${place} is ${told}, not ${expected}`;
}

function first(checks: Iterable<Check>): Check {
  for (const check of checks) if (check !== undefined) return check;
  return undefined;
}

type AnyObject = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is AnyObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function fieldOf(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}
