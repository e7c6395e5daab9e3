import { expect, it } from 'vitest';
import { baselineConfiguration, resolveFeatureGates } from '../../config/index.js';
import { declaredFeatures } from './declared-features.js';

const initContainerResizes = 'InPlacePodVerticalScalingInitContainers';

it.each([
  [
    'all gates on',
    { streams: true, restarts: true, resizes: true },
    true,
    [
      'ExtendWebSocketsToKubelet',
      'InPlacePodLevelResourcesVerticalScaling',
      'InPlacePodVerticalScalingInitContainers',
      'RestartAllContainersOnContainerExits',
    ],
  ],
  [
    'no server, so nobody can stream',
    { streams: true, restarts: true, resizes: false },
    false,
    [initContainerResizes, 'RestartAllContainersOnContainerExits'],
  ],
  [
    'only streaming, and what is locked on',
    { streams: true, restarts: false, resizes: false },
    true,
    ['ExtendWebSocketsToKubelet', initContainerResizes],
  ],
  [
    'all gates off that can be',
    { streams: false, restarts: false, resizes: false },
    true,
    [initContainerResizes],
  ],
])('%s', (_rule, { streams, restarts, resizes }, enableServer, features) => {
  const { gates } = resolveFeatureGates({
    ExtendWebSocketsToKubelet: streams,
    RestartAllContainersOnContainerExits: restarts,
    InPlacePodLevelResourcesVerticalScaling: resizes,
  });
  const config = { ...baselineConfiguration(gates), enableServer };
  expect(declaredFeatures({ gates, config })).toEqual(features);
});

it('a driver that may do without calls of the node', () => {
  const config = baselineConfiguration(resolveFeatureGates({}).gates);
  const on = resolveFeatureGates({ DRAOptionalNodeOperations: true }).gates;
  const off = resolveFeatureGates({}).gates;
  expect(declaredFeatures({ gates: on, config })).toContain('DRAOptionalNodeOperations');
  expect(declaredFeatures({ gates: off, config })).not.toContain('DRAOptionalNodeOperations');
});
