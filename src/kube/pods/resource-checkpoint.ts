/**
 * The file format of what pods were given, or have in force: the reference kubelet's, so that a node can be switched from
 * one to the other.
 */
import type { ResourceRequirements } from '../types/container.js';
import type { ResourceList } from '../types/meta.js';
import { tryParseQuantity } from '../values/quantity.js';
import { fnv32a } from './pod-hash.js';

/** The resources of one pod; its names are those of the file. */
export interface PodResourceEntry {
  readonly ContainerResources?: Readonly<Record<string, ResourceRequirements>>;
  readonly PodLevelResources?: ResourceRequirements;
  /** The size limits of volumes in memory, by the names of the volumes. Absent where they are not followed. */
  readonly EmptyDirVolumeLimits?: Readonly<Record<string, string>>;
}

/** Entries by the UID of their pod, each part with sorted names, so that equal entries have equal texts. */
export function formatResourceCheckpoint(entries: ReadonlyMap<string, PodResourceEntry>): string {
  const data = JSON.stringify({
    entries: sorted(Object.fromEntries(entries), (entry) => ({
      ContainerResources:
        entry.ContainerResources === undefined ? null : sorted(entry.ContainerResources, requirements),
      PodLevelResources: entry.PodLevelResources === undefined ? null : requirements(entry.PodLevelResources),
      EmptyDirVolumeLimits: hasNone(entry.EmptyDirVolumeLimits) ? null : amounts(entry.EmptyDirVolumeLimits),
    })),
  });
  return JSON.stringify({ data, checksum: resourceChecksum(data) });
}

/** Throws, with what is wrong, for anything that no kubelet has written. */
export function parseResourceCheckpoint(text: string): Map<string, PodResourceEntry> {
  const outer: unknown = JSON.parse(text);
  if (!isObject(outer) || typeof outer.data !== 'string') throw new Error('it has no data');
  if (outer.checksum !== resourceChecksum(outer.data)) throw new Error('its checksum is wrong');
  const inner: unknown = JSON.parse(outer.data);
  const entries: unknown = isObject(inner) ? (inner.entries ?? {}) : undefined;
  if (!isObject(entries)) throw new Error('its entries are not those of pods');
  return new Map(Object.entries(entries).map(([uid, entry]) => [uid, readEntry(entry)]));
}

export function resourceChecksum(data: string): number {
  return fnv32a(new TextEncoder().encode(`(string)${data}`));
}

function readEntry(given: unknown): PodResourceEntry {
  if (!isObject(given)) throw new Error('its entries are not those of pods');
  const { ContainerResources: containers, PodLevelResources: own, EmptyDirVolumeLimits: limits } = given;
  return {
    ...(isNone(containers) ? {} : { ContainerResources: readMembers(containers, readRequirements) }),
    ...(isNone(own) ? {} : { PodLevelResources: readRequirements(own) }),
    ...(isNone(limits) ? {} : { EmptyDirVolumeLimits: readMembers(limits, readAmount) }),
  };
}

function readRequirements(given: unknown): ResourceRequirements {
  if (!isObject(given)) throw new Error('resources of an entry are not a mapping');
  const { limits, requests, claims } = given;
  return {
    ...(isNone(limits) ? {} : { limits: readMembers(limits, readAmount) }),
    ...(isNone(requests) ? {} : { requests: readMembers(requests, readAmount) }),
    ...(isNone(claims) ? {} : { claims: readClaims(claims) }),
  };
}

function readAmount(given: unknown): string {
  if (typeof given !== 'string' || tryParseQuantity(given) === undefined) {
    throw new Error('an amount of an entry is not a quantity');
  }
  return given;
}

function readClaims(given: unknown): NonNullable<ResourceRequirements['claims']> {
  if (!Array.isArray(given)) throw new Error('claims of an entry are not a list');
  return given.map((claim: unknown) => {
    if (!isObject(claim) || typeof claim.name !== 'string')
      throw new Error('a claim of an entry has no name');
    return { name: claim.name, ...(typeof claim.request === 'string' ? { request: claim.request } : {}) };
  });
}

function readMembers<T>(given: unknown, read: (member: unknown) => T): Record<string, T> {
  if (!isObject(given)) throw new Error('a part of an entry is not a mapping');
  return Object.fromEntries(Object.entries(given).map(([name, member]) => [name, read(member)]));
}

function requirements({ limits, requests, claims }: ResourceRequirements): object {
  return {
    ...(hasNone(limits) ? {} : { limits: amounts(limits) }),
    ...(hasNone(requests) ? {} : { requests: amounts(requests) }),
    ...(claims === undefined || claims.length === 0 ? {} : { claims }),
  };
}

function amounts(list: Readonly<ResourceList>): object {
  return sorted(list, (amount) => String(amount));
}

function hasNone(list: Readonly<ResourceList> | undefined): list is undefined {
  return list === undefined || Object.keys(list).length === 0;
}

function sorted<T>(members: Readonly<Record<string, T>>, format: (member: T) => unknown): object {
  return Object.fromEntries(
    Object.entries(members)
      .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
      .map(([name, member]) => [name, format(member)]),
  );
}

function isNone(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
