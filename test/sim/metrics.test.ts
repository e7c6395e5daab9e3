/** Holds the metrics of a whole node to the table of families: name, type, stability, labels and buckets. */
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/async/index.js';
import { createApiRequestMetrics } from '../../src/kube-client/index.js';
import {
  Registry,
  registerBuildInfo,
  registerFeatureGates,
  registerMetricCounts,
  registerProcessMetrics,
} from '../../src/metrics/index.js';
import { createClientCertificateMetrics, createServingCertificateMetrics } from '../../src/node/index.js';
import { registerPluginCounts } from '../../src/plugins/index.js';
import { createCgroupMetrics, createMemoryQosMetrics } from '../../src/resources/cgroups/index.js';
import { createDeviceManagerMetrics } from '../../src/resources/device-manager/metrics.js';
import { createDraMetrics, registerClaimsInUse } from '../../src/resources/dra/index.js';
import { createEvictionMetrics } from '../../src/resources/eviction/index.js';
import { createPodResourcesMetrics } from '../../src/resources/pod-resources/metrics.js';
import {
  createStatsMetrics,
  createVolumeMeasureMetrics,
  registerLogMetrics,
  registerVolumeMetrics,
} from '../../src/resources/stats/index.js';
import { createPodLevelMetrics } from '../../src/resources/topology-manager/index.js';
import { createPluginMetrics, createPullRecordMetrics } from '../../src/runtime-manager/images/index.js';
import { createAuthMetrics, createRequestMetrics, createStreamMetrics } from '../../src/server/metrics.js';
import {
  type FamilyRow,
  groupsNotServed,
  notServed,
  ofAgents,
  ofEveryKubelet,
  ofMembers,
  ofOtherPages,
} from '../metric-families.js';
import { startMember } from './cluster-machine.js';
import { endNodes, startNode } from './node.js';

afterEach(endNodes);

const byName = (rows: readonly FamilyRow[]): FamilyRow[] =>
  [...rows].sort((a, b) => (a.name < b.name ? -1 : 1));

const registered = (registry: Registry): FamilyRow[] =>
  byName(
    registry.metrics().map(({ name, type, stability, labelNames, buckets }) => ({
      name,
      type,
      stability,
      labels: [...labelNames].sort(),
      buckets,
    })),
  );

describe('the metrics of', () => {
  it('a kubelet alone', async () => {
    const { kubelet } = await startNode();
    expect(registered(kubelet.registry)).toEqual(byName(ofEveryKubelet));
  });

  it('a kubelet of a cluster', async () => {
    const { node } = await startMember();
    expect(registered(node.kubelet.registry)).toEqual(byName([...ofEveryKubelet, ...ofMembers]));
  });

  it('what the agent opens around it', () => {
    const registry = new Registry();
    registerProcessMetrics(registry);
    registerBuildInfo(registry, { version: 'v1.36.4', runtime: '', platform: '' });
    registerFeatureGates(registry, []);
    registerMetricCounts(registry);
    createApiRequestMetrics(registry);
    createAuthMetrics(registry);
    createClientCertificateMetrics(registry);
    createServingCertificateMetrics(registry);
    registerVolumeMetrics(registry, () => []);
    registerLogMetrics(registry, systemClock, async function* () {});
    createVolumeMeasureMetrics(registry);
    createEvictionMetrics(registry);
    createStatsMetrics(registry);
    createCgroupMetrics(registry);
    createMemoryQosMetrics(registry);
    createPluginMetrics(registry);
    registerPluginCounts(registry, () => ({ desired: [], actual: [] }));
    createDraMetrics(registry);
    registerClaimsInUse(registry, () => []);
    createDeviceManagerMetrics(registry);
    createPodResourcesMetrics(registry);
    createPodLevelMetrics(registry);
    createPullRecordMetrics(registry);
    createRequestMetrics(registry);
    createStreamMetrics(registry);
    expect(registered(registry)).toEqual(byName(ofAgents));
  });
});

describe('the table of families', () => {
  const served = [...ofEveryKubelet, ...ofMembers, ...ofAgents, ...ofOtherPages];
  it('has a reason for each that is not served, and serves none of those', () => {
    const names = new Set(served.map(({ name }) => name));
    expect(Object.keys(notServed).filter((name) => names.has(name))).toEqual([]);
    for (const start of Object.keys(groupsNotServed))
      expect([...names].filter((name) => name.startsWith(start))).toEqual([]);
  });
  it('names buckets that exist', () => {
    expect(served.filter(({ type, buckets }) => (type === 'histogram') !== (buckets !== undefined))).toEqual(
      [],
    );
  });
});
