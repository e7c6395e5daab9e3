/** Builds the port that tells what would happen: it asks the rooms for forecasts and changes nothing. */
import { errorText } from '../../async/index.js';
import { ConfigurationError, type KubeletConfiguration } from '../../config/index.js';
import type { Node, Pod } from '../../kube/index.js';
import { type ReservationSettings, shutdownDelayMs } from '../../node/index.js';
import type { EvictionForecast } from '../../resources/eviction/index.js';
import type { AdmissionHandler } from '../admission/admission.js';
import { type Collectors, imageGcPolicy } from '../rooms/create-collectors.js';
import type { NodeEviction } from '../rooms/create-eviction.js';
import { configuredGroups } from '../rooms/create-shutdown.js';
import type { KubeletSettings } from '../settings.js';
import {
  allocatableUnder,
  cgroupChanges,
  evictionUnder,
  fieldChanges,
  imagesUnder,
  refusedBy,
  resourceChanges,
} from './config.js';
import { bounded, type ConfigOutlook, type WhatIf } from './contracts.js';
import { evictionOutlook } from './evict.js';
import { garbageOutlook } from './gc.js';
import type { ProposedConfiguration } from './proposals.js';
import { shutdownOutlook } from './shutdown.js';

export type WhatIfSettings = Pick<
  KubeletSettings,
  'config' | 'gates' | 'logind' | 'proposals' | 'node' | 'eviction'
>;

export interface WhatIfDeps {
  readonly eviction: Pick<NodeEviction, 'forecast' | 'off'>;
  readonly collectors: Pick<Collectors, 'garbage' | 'images'>;
  readonly activePods: () => readonly Pod[];
  /** Who would be asked about pods with another configuration, on a node as given. */
  readonly admissionWith: (
    config: KubeletConfiguration,
    node: () => Node | undefined,
  ) => readonly AdmissionHandler[];
}

const nothingForeseen: EvictionForecast = {
  conditions: [],
  signals: [],
  overLimits: [],
  next: { kind: 'nothing', because: 'nobody looks at the node' },
};

/** The rest of what a configuration does is worth telling without statistics, too. */
function unseen(error: unknown): EvictionForecast {
  const because = `the node cannot be seen now: ${errorText(error)}`;
  return { ...nothingForeseen, next: { kind: 'nothing', because } };
}

export function createWhatIf(settings: WhatIfSettings, deps: WhatIfDeps): WhatIf {
  const { config, logind, proposals } = settings;
  const { eviction, collectors, activePods } = deps;
  return {
    async evict() {
      return evictionOutlook((await eviction.forecast?.()) ?? nothingForeseen, eviction.off);
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
    async config(text, given) {
      if (proposals === undefined) return undefined;
      const file = given ?? proposals.currentFile ?? '/config.yaml';
      try {
        return await configOutlook(settings, deps, file, await proposals.read(file, text));
      } catch (error) {
        if (!(error instanceof ConfigurationError)) throw error;
        const { message: problem, hint } = error;
        return { kind: 'refused', file, problem, ...(hint === undefined ? {} : { hint }) };
      }
    },
  };
}

async function configOutlook(
  settings: WhatIfSettings,
  { eviction, collectors, activePods, admissionWith }: WhatIfDeps,
  file: string,
  proposed: ProposedConfiguration,
): Promise<ConfigOutlook> {
  const [forecast = nothingForeseen, imagesNow, imagesThen] = await Promise.all([
    eviction.forecast?.(proposed.config).catch(unseen),
    collectors.images.forecast(),
    collectors.images.forecast(imageGcPolicy(proposed.config)),
  ]);
  const pods = activePods();
  const node = settings.node();
  const ignoreEviction = settings.eviction?.boundsAllocatable === false;
  const reservation = (config: KubeletConfiguration): ReservationSettings => ({ ...config, ignoreEviction });
  const allocatable = allocatableUnder(node, reservation(settings.config), reservation(proposed.config));
  const nodeThen = node && allocatable && { ...node, status: { ...node.status, allocatable } };
  const refusedNow = new Set(
    (await refusedBy(admissionWith(settings.config, settings.node), pods)).map(({ uid }) => uid),
  );
  const refused = await refusedBy(
    admissionWith(proposed.config, () => nodeThen ?? node),
    pods,
  );
  const cgroups = proposed.cgroups(pods);
  const delaySeconds = (given: Pick<KubeletSettings, 'config' | 'gates'>): number =>
    shutdownDelayMs(configuredGroups(given)) / 1000;
  return {
    kind: 'accepted',
    file,
    warnings: bounded(proposed.warnings),
    changes: bounded(fieldChanges(settings, proposed)),
    allocatable: resourceChanges(node?.status?.allocatable ?? {}, allocatable ?? {}),
    cgroups: bounded(cgroupChanges(cgroups.before, cgroups.after)),
    eviction: evictionUnder(forecast, proposed.evicts),
    refusedPods: bounded(refused.filter(({ uid }) => !refusedNow.has(uid))),
    images: imagesUnder(imagesNow, imagesThen),
    shutdownDelaySeconds: { before: delaySeconds(settings), after: delaySeconds(proposed) },
  };
}
