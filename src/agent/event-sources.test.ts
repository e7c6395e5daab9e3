import { expect, it } from 'vitest';
import { baselineConfiguration, resolveFeatureGates } from '../config/index.js';
import { unimplementedCriRuntime } from '../cri/index.js';
import { runtimeEventSources } from './event-sources.js';

const both = ["the runtime's container events", "containerd's events"];

it.each([
  ['unset: the events are followed', {}, both],
  ['on: the same', { EventedPLEG: true }, both],
  ['off by its name: the runtime is polled', { EventedPLEG: false }, []],
  ['off with all alpha gates: its default, so the events are followed', { AllAlpha: false }, both],
])('%s', (_, requested: Record<string, boolean>, expected) => {
  const { gates: featureGates } = resolveFeatureGates(requested);
  const config = { ...baselineConfiguration(featureGates), featureGates: requested };
  const sources = runtimeEventSources({ config, featureGates });
  expect(sources.map((source) => source(unimplementedCriRuntime()).name)).toEqual(expected);
});
