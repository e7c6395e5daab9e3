/** Builds the port that tells what would happen: it asks the rooms for forecasts and changes nothing. */

import type { Pod } from '../../kube/index.js';
import type { Collectors } from '../rooms/create-collectors.js';
import type { NodeEviction } from '../rooms/create-eviction.js';
import { configuredGroups } from '../rooms/create-shutdown.js';
import type { KubeletSettings } from '../settings.js';
import type { WhatIf } from './contracts.js';
import { evictionOutlook } from './evict.js';
import { garbageOutlook } from './gc.js';
import { shutdownOutlook } from './shutdown.js';

export function createWhatIf(
  settings: Pick<KubeletSettings, 'config' | 'gates' | 'logind'>,
  {
    eviction,
    collectors,
    activePods,
  }: {
    readonly eviction: Pick<NodeEviction, 'forecast' | 'off'>;
    readonly collectors: Pick<Collectors, 'garbage' | 'images'>;
    readonly activePods: () => readonly Pod[];
  },
): WhatIf {
  const { config, logind } = settings;
  return {
    async evict() {
      const forecast = await eviction.forecast?.();
      return evictionOutlook(
        forecast ?? { conditions: [], signals: [], overLimits: [], next: { kind: 'nothing', because: '' } },
        eviction.off,
      );
    },
    async gc() {
      const [garbage, images] = await Promise.all([
        collectors.garbage.forecast(),
        collectors.images.forecast(),
      ]);
      return garbageOutlook(garbage, images, {
        highThresholdPercent: config.imageGCHighThresholdPercent,
        lowThresholdPercent: config.imageGCLowThresholdPercent,
      });
    },
    shutdown: () =>
      shutdownOutlook({
        groups: configuredGroups(settings),
        canDelay: logind !== undefined,
        pods: activePods(),
      }),
  };
}
