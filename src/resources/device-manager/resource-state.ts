/**
 * What is known of the devices of one resource, and how that changes: by reports, when the last plugin goes, and when it
 * stays away.
 */
import { healthy, type PluginDevice } from './contracts.js';
import { deviceLimits } from './limits.js';

export interface ResourceState {
  /** The last report; it stays when the plugin goes. */
  readonly table: ReadonlyMap<string, PluginDevice>;
  readonly healthy: ReadonlySet<string>;
  readonly unhealthy: ReadonlySet<string>;
  /** A plugin reported devices, in this life of the agent or in an earlier one. */
  readonly isKnown: boolean;
  readonly presence: PluginPresence;
}

export type PluginPresence =
  /** Connected; silent until its first report. */
  | { readonly kind: 'connected'; readonly hasReported: boolean }
  | { readonly kind: 'gone'; readonly sinceMs: number };

const none: ReadonlySet<string> = new Set();

/** A resource that nobody has reported devices of. */
export const unreported: ResourceState = {
  table: new Map(),
  healthy: none,
  unhealthy: none,
  isKnown: false,
  presence: { kind: 'connected', hasReported: false },
};

/** A resource that the record of an earlier life names. */
export function remembered(nowMs: number): ResourceState {
  return { ...unreported, isKnown: true, presence: { kind: 'gone', sinceMs: nowMs } };
}

/** Another plugin of the resource is there; what is known of its devices stays until it reports. */
export function connected(state: ResourceState): ResourceState {
  if (state.presence.kind === 'connected') return state;
  return { ...state, presence: { kind: 'connected', hasReported: false } };
}

export function reported(table: ReadonlyMap<string, PluginDevice>): ResourceState {
  const isHealthy = new Set<string>();
  const isUnhealthy = new Set<string>();
  for (const { id, health } of table.values()) (health === healthy ? isHealthy : isUnhealthy).add(id);
  const presence = { kind: 'connected', hasReported: true } as const;
  return { table, healthy: isHealthy, unhealthy: isUnhealthy, isKnown: true, presence };
}

/** The last plugin has gone: no device can be given out, and those that are keep the health that was told. */
export function lost(state: ResourceState, nowMs: number): ResourceState {
  return {
    ...state,
    healthy: none,
    unhealthy: new Set([...state.unhealthy, ...state.healthy]),
    presence: { kind: 'gone', sinceMs: nowMs },
  };
}

/** Its devices are no longer counted. */
export function isExpired({ presence }: ResourceState, nowMs: number): boolean {
  return presence.kind === 'gone' && nowMs - presence.sinceMs >= deviceLimits.graceMs;
}

/** A plugin was there before, or is there and silent: a report can still come. */
export function isAwaited({ presence, isKnown }: ResourceState): boolean {
  return isKnown && (presence.kind === 'gone' || !presence.hasReported);
}

/** Devices whose owners are told: those whose health changed, and those that are back. Vanished ones change nothing. */
export function changedDevices(
  before: ReadonlyMap<string, PluginDevice>,
  after: ReadonlyMap<string, PluginDevice>,
): readonly string[] {
  return [...after.values()]
    .filter(({ id, health }) => before.get(id)?.health !== health)
    .map(({ id }) => id);
}

/** What a pod's status says; a device that is no longer reported counts as healthy. */
export function shownHealth(table: ReadonlyMap<string, PluginDevice>, id: string): 'Healthy' | 'Unhealthy' {
  return (table.get(id)?.health ?? healthy) === healthy ? 'Healthy' : 'Unhealthy';
}
