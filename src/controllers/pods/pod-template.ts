/** Makes the pod of a template, and names the revision of a template by a short hash. */
import { createHash } from 'node:crypto';
import {
  clone,
  type KubeObject,
  type ObjectMeta,
  type PodManifest,
  type PodTemplateSpec,
  semanticEqual,
} from '../../kube/index.js';
import type { Resource } from '../../kube-client/index.js';
import { controllerReference } from '../ownership/owner-references.js';

export interface PodFromTemplate {
  readonly template: PodTemplateSpec;
  readonly ownerResource: Resource;
  readonly owner: KubeObject;
  /** Absent: the server adds a random end to the prefix. */
  readonly name?: string;
  readonly namePrefix?: string;
}

/** The server cuts a prefix at this length itself; a longer one could not be stored. */
const prefixChars = 58;

export function podFromTemplate({
  template,
  ownerResource,
  owner,
  name,
  namePrefix,
}: PodFromTemplate): PodManifest {
  const { labels, annotations, finalizers } = clone(template.metadata ?? {});
  const prefix = namePrefix ?? `${owner.metadata.name ?? ''}-`;
  const metadata: ObjectMeta = {
    ...(name === undefined ? { generateName: prefix.slice(0, prefixChars) } : { name }),
    ...(owner.metadata.namespace === undefined ? {} : { namespace: owner.metadata.namespace }),
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(finalizers === undefined ? {} : { finalizers }),
    ownerReferences: [controllerReference(ownerResource, owner)],
  };
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: clone(template.spec) };
}

/** The letters and digits of generated names: no vowels, so no words, and nothing that is easily misread. */
const hashLetters = 'bcdfghjklmnpqrstvwxz2456789';
const hashChars = 10;

/** A short hash of any value: equal values have equal hashes, however their members are ordered. */
export function shortHash(value: unknown, collisionCount = 0): string {
  const digest = createHash('sha256')
    .update(`${collisionCount} ${ordered(value)}`)
    .digest();
  return [...digest.subarray(0, hashChars)]
    .map((byte) => hashLetters[byte % hashLetters.length] ?? 'b')
    .join('');
}

/** JSON with sorted members and without empty ones, which mean the same as absent ones. */
function ordered(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(ordered).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value)
    .filter(([, member]) => !semanticEqual(member, undefined))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${ordered(member)}`);
  return `{${members.join(',')}}`;
}

/** The template without a label that a controller added. */
export function templateWithout(template: PodTemplateSpec, label: string): PodTemplateSpec {
  const { [label]: _, ...labels } = template.metadata?.labels ?? {};
  return { ...template, metadata: { ...template.metadata, labels } };
}
