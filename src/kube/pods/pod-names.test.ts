import { describe, expect, it } from 'vitest';
import type { Pod } from '../types/pod.js';
import {
  configMirrorAnnotation,
  configSourceAnnotation,
  findPodContainer,
  formatPod,
  isCriticalPod,
  isHostNetwork,
  isMirrorPod,
  isSidecar,
  isStaticPod,
  isTerminalPhase,
  parsePodFullName,
  podContainers,
  podFullName,
} from './pod-names.js';

function pod(annotations: Record<string, string> = {}, spec: Partial<Pod['spec']> = {}): Pod {
  return {
    metadata: { name: 'web', namespace: 'shop', uid: 'u1', annotations },
    spec: { containers: [{ name: 'main' }], ...spec },
  };
}

describe('names', () => {
  it('joins name and namespace', () => expect(podFullName(pod())).toBe('web_shop'));
  it('adds the UID for people', () => expect(formatPod(pod())).toBe('web_shop(u1)'));
  it('parses a full name', () =>
    expect(parsePodFullName('web_shop')).toEqual({ name: 'web', namespace: 'shop' }));
  it.each(['web', 'web_', '_shop', 'a_b_c', '_', ''])('rejects %j', (text) => {
    expect(() => parsePodFullName(text)).toThrow(`"${text}"`);
  });
});

describe('origin', () => {
  it.each([
    ['no source annotation', {}, false, false],
    ['from the API', { [configSourceAnnotation]: 'api' }, false, false],
    ['from a file', { [configSourceAnnotation]: 'file' }, true, false],
    ['from a URL', { [configSourceAnnotation]: 'http' }, true, false],
    ['mirror with any value', { [configMirrorAnnotation]: '' }, false, true],
  ])('%s', (_rule, annotations, isStatic, isMirror) => {
    expect(isStaticPod(pod(annotations))).toBe(isStatic);
    expect(isMirrorPod(pod(annotations))).toBe(isMirror);
    expect(isCriticalPod(pod(annotations))).toBe(isStatic || isMirror);
  });
  it.each([
    [2_000_000_000, true],
    [1_999_999_999, false],
    [undefined, false],
  ])('priority %s critical: %s', (priority, critical) => {
    expect(isCriticalPod(pod({}, { priority }))).toBe(critical);
  });
});

describe('predicates', () => {
  it.each([
    ['Succeeded', true],
    ['Failed', true],
    ['Running', false],
    ['Pending', false],
    [undefined, false],
  ])('phase %s terminal: %s', (phase, terminal) => expect(isTerminalPhase(phase)).toBe(terminal));
  it('host network', () => {
    expect(isHostNetwork(pod({}, { hostNetwork: true }))).toBe(true);
    expect(isHostNetwork(pod())).toBe(false);
  });
  it('sidecar', () => {
    expect(isSidecar({ name: 'a', restartPolicy: 'Always' })).toBe(true);
    expect(isSidecar({ name: 'a', restartPolicy: 'OnFailure' })).toBe(false);
  });
});

describe('containers', () => {
  const mixed = pod({}, { initContainers: [{ name: 'setup' }], ephemeralContainers: [{ name: 'debug' }] });
  it('are listed init, regular, ephemeral', () => {
    expect([...podContainers(mixed)].map((entry) => entry.fieldPath)).toEqual([
      'spec.initContainers{setup}',
      'spec.containers{main}',
      'spec.ephemeralContainers{debug}',
    ]);
  });
  it('are found by name', () => {
    expect(findPodContainer(mixed, 'debug')?.kind).toBe('ephemeralContainer');
    expect(findPodContainer(mixed, 'none')).toBeUndefined();
  });
});
