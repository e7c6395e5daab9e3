/** The gRPC services that a driver may offer, and which of them are used. */
import { goQuote } from '../../kube/index.js';
import { DRAPlugin } from './gen/dra.js';
import { DRAResourceHealth } from './gen/dra-health.js';

/** The calls of one version of a service; all versions have the same messages. */
const preparing = {
  'v1.DRAPlugin': DRAPlugin,
  'v1beta1.DRAPlugin': {
    nodePrepareResources: {
      ...DRAPlugin.nodePrepareResources,
      path: '/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodePrepareResources',
    },
    nodeUnprepareResources: {
      ...DRAPlugin.nodeUnprepareResources,
      path: '/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodeUnprepareResources',
    },
  },
} as const;

const watching = {
  'v1.DRAResourceHealth': DRAResourceHealth.nodeWatchResources,
  'v1alpha1.DRAResourceHealth': {
    ...DRAResourceHealth.nodeWatchResources,
    path: '/v1alpha1.DRAResourceHealth/NodeWatchResources',
  },
} as const;

export type PrepareService = (typeof preparing)[keyof typeof preparing];
export type HealthMethod = (typeof watching)[keyof typeof watching];

export type ChosenServices =
  | {
      readonly kind: 'chosen';
      readonly prepare: PrepareService;
      /** Undefined for a driver that tells nothing of its devices' health. */
      readonly health: HealthMethod | undefined;
    }
  | { readonly kind: 'refused'; readonly problem: string };

/** The first service of the plugin's own list that is known; of the health services the newest. */
export function chooseServices(versions: readonly string[]): ChosenServices {
  if (versions.length === 0) {
    return { kind: 'refused', problem: 'empty list of supported gRPC services (aka supported versions)' };
  }
  const first = versions.find(isPrepareVersion);
  if (first === undefined) {
    const known = quotedList(Object.keys(preparing));
    const problem = `none of services supported by the plugin (${quotedList(versions)}) are supported by the kubelet (${known})`;
    return { kind: 'refused', problem };
  }
  const health = healthVersions.find((version) => versions.includes(version));
  return {
    kind: 'chosen',
    prepare: preparing[first],
    health: health === undefined ? undefined : watching[health],
  };
}

const healthVersions = ['v1.DRAResourceHealth', 'v1alpha1.DRAResourceHealth'] as const;

function isPrepareVersion(version: string): version is keyof typeof preparing {
  return Object.hasOwn(preparing, version);
}

function quotedList(texts: readonly string[]): string {
  return `[${texts.map(goQuote).join(' ')}]`;
}
