import { expect, it } from 'vitest';
import { baselineConfiguration, resolveFeatureGates } from '../../config/index.js';
import { declaredFeatures } from './declared-features.js';

it.each([
  ['both gates on', true, true, true, ['ExtendWebSocketsToKubelet', 'RestartAllContainersOnContainerExits']],
  ['no server, so nobody can stream', true, false, true, ['RestartAllContainersOnContainerExits']],
  ['only streaming', true, true, false, ['ExtendWebSocketsToKubelet']],
  ['both gates off', false, true, false, []],
])('%s', (_rule, streams, enableServer, restarts, features) => {
  const { gates } = resolveFeatureGates({
    ExtendWebSocketsToKubelet: streams,
    RestartAllContainersOnContainerExits: restarts,
  });
  const config = { ...baselineConfiguration(gates), enableServer };
  expect(declaredFeatures({ gates, config })).toEqual(features);
});
