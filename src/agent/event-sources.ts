/** Decides whether the agent follows the events of the runtime or polls it. */
import type { LoadedConfiguration } from '../config/index.js';
import type { CriRuntime } from '../cri/index.js';
import { containerdEvents, criEvents, type RuntimeEventSource } from '../runtime-manager/pleg/index.js';

/**
 * None, and so a relist each second, only if EventedPLEG was switched off by its name: our events are not those of the
 * alpha gate, which is off by default.
 */
export function runtimeEventSources({
  config,
  featureGates,
}: Pick<LoadedConfiguration, 'config' | 'featureGates'>): readonly ((
  cri: CriRuntime,
) => RuntimeEventSource)[] {
  const isNamed = Object.hasOwn(config.featureGates, 'EventedPLEG');
  if (isNamed && !featureGates.enabled('EventedPLEG')) return [];
  return [criEvents, () => containerdEvents(config.containerRuntimeEndpoint)];
}
