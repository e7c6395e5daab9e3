import { expect, it } from 'vitest';
import { baselineConfiguration, resolveFeatureGates } from '../../config/index.js';
import { declaredFeatures } from './declared-features.js';

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
    ['RestartAllContainersOnContainerExits'],
  ],
  ['only streaming', { streams: true, restarts: false, resizes: false }, true, ['ExtendWebSocketsToKubelet']],
  ['all gates off', { streams: false, restarts: false, resizes: false }, true, []],
])('%s', (_rule, { streams, restarts, resizes }, enableServer, features) => {
  const { gates } = resolveFeatureGates({
    ExtendWebSocketsToKubelet: streams,
    RestartAllContainersOnContainerExits: restarts,
    InPlacePodLevelResourcesVerticalScaling: resizes,
    InPlacePodVerticalScalingInitContainers: resizes,
  });
  const config = { ...baselineConfiguration(gates), enableServer };
  expect(declaredFeatures({ gates, config })).toEqual(features);
});
