/** What the certificate of a source needs next, rule by rule. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { PodCertificateRequest } from '../../kube-client/index.js';
import { makePodKey } from './keys.js';
import { podCertificateLimits } from './limits.js';
import {
  afterSending,
  type IssuedCredential,
  latenessOf,
  nextStep,
  type PodCertificateState,
  refusalOf,
  type SentRequest,
  stateLabel,
} from './states.js';
import { issuedStatus } from './test-signer.js';

const minute = 60_000;
const nowMs = Date.UTC(2026, 5, 1);
const times = { notBeforeMs: nowMs, lifeMs: 60 * minute, refreshAfterMs: 30 * minute };
const issued: IssuedCredential = {
  keyPem: 'old key',
  chainPem: 'old chain',
  refreshAtMs: nowMs + 30 * minute,
  notAfterMs: nowMs + 60 * minute,
};
let sent: SentRequest;
let pending: PodCertificateRequest;
beforeAll(async () => {
  const { keyPem, stubRequest } = await makePodKey('ED25519');
  sent = { name: 'req-1', uid: 'u1', keyPem, abandonAtMs: nowMs + 10 * minute };
  pending = {
    metadata: { name: 'req-1', uid: 'u1' },
    spec: {
      signerName: 'example.com/signer',
      podName: 'web',
      podUID: 'pod',
      serviceAccountName: 'default',
      serviceAccountUID: 'account',
      nodeName: 'n1',
      nodeUID: 'node',
      stubPKCS10Request: stubRequest,
    },
  };
});

const step = (state: PodCertificateState, seen?: PodCertificateRequest, atMs = nowMs) =>
  nextStep(state, { nowMs: atMs, seen, jitterMs: 7_000 });
const condition = (type: string, status = 'True'): PodCertificateRequest => ({
  ...pending,
  status: { conditions: [{ type, status, reason: 'Why', message: 'because' }] },
});

describe('nextStep', () => {
  it('requests the first certificate', () => {
    expect(step({ kind: 'initial' })).toMatchObject({ do: 'request' });
  });

  it('rests until it is time to refresh, and then requests', () => {
    expect(step({ kind: 'fresh', issued })).toEqual({ do: 'rest', untilMs: issued.refreshAtMs });
    expect(step({ kind: 'fresh', issued }, undefined, issued.refreshAtMs)).toMatchObject({ do: 'request' });
  });

  it('waits for a request that the signer has not judged', () => {
    const rest = { do: 'rest', untilMs: Number.POSITIVE_INFINITY };
    expect(step({ kind: 'wait', sent }, pending)).toEqual(rest);
    expect(step({ kind: 'wait', sent }, condition('Issued', 'False'))).toEqual(rest);
  });

  it('waits for a request that is not seen, and then takes it for deleted', () => {
    expect(step({ kind: 'wait', sent })).toEqual({ do: 'rest', untilMs: sent.abandonAtMs });
    const late = sent.abandonAtMs;
    expect(step({ kind: 'wait', sent }, undefined, late)).toEqual({
      do: 'become',
      state: { kind: 'initial' },
    });
    expect(step({ kind: 'wait-refresh', issued, sent }, undefined, late)).toEqual({
      do: 'become',
      state: { kind: 'fresh', issued },
    });
    const other = { ...pending, metadata: { name: 'req-1', uid: 'u2' } };
    expect(step({ kind: 'wait', sent }, other, late)).toMatchObject({ do: 'become' });
  });

  it('takes an issued certificate, and refreshes it with a delay of its own', () => {
    const seen = { ...pending, status: issuedStatus(pending, times) };
    const { certificateChain: chain } = seen.status;
    const state = {
      kind: 'fresh',
      issued: {
        keyPem: sent.keyPem,
        chainPem: chain,
        refreshAtMs: nowMs + 30 * minute + 7_000,
        notAfterMs: nowMs + 60 * minute,
      },
    };
    expect(step({ kind: 'wait', sent }, seen)).toEqual({ do: 'become', state });
    expect(step({ kind: 'wait-refresh', issued, sent }, seen)).toEqual({ do: 'become', state });
    const dirty = { ...seen, status: { ...seen.status, certificateChain: `# root\n${chain}trailing` } };
    expect(step({ kind: 'wait', sent }, dirty)).toEqual({ do: 'become', state });
  });

  it('keeps a certificate for a while that is due at once by the clock of this node', () => {
    const seen = { ...pending, status: issuedStatus(pending, times) };
    const ahead = nowMs + 24 * 60 * minute;
    const taken = step({ kind: 'wait', sent: { ...sent, abandonAtMs: ahead + minute } }, seen, ahead);
    expect(taken).toMatchObject({ do: 'become', state: { issued: { refreshAtMs: ahead + minute + 7_000 } } });
  });

  it.each(['Denied', 'Failed'])('gives up for ever when it is %s, also at a refresh', (type) => {
    const state = { kind: type.toLowerCase(), reason: 'Why', message: 'because' };
    expect(step({ kind: 'wait', sent }, condition(type))).toEqual({ do: 'become', state });
    expect(step({ kind: 'wait-refresh', issued, sent }, condition(type))).toEqual({ do: 'become', state });
    expect(step({ kind: 'denied', reason: '', message: '' }, pending)).toEqual({
      do: 'rest',
      untilMs: Number.POSITIVE_INFINITY,
    });
  });

  const long = 'x'.repeat(podCertificateLimits.chainBytes + 1);
  const broken: [rule: string, status: (good: object) => object, message: RegExp][] = [
    [
      'without a time to refresh',
      ({ ...good }) => ({ ...good, beginRefreshAt: undefined }),
      /beginRefreshAt/,
    ],
    ['without an end', (good) => ({ ...good, notAfter: 'soon' }), /notAfter/],
    ['that is too long', (good) => ({ ...good, certificateChain: long }), /more than 102400 bytes/],
    ['that is no certificate', (good) => ({ ...good, certificateChain: 'x' }), /begin with a certificate/],
  ];
  it.each(broken)('refuses a chain %s', (_rule, change, message) => {
    const status = change(issuedStatus(pending, times));
    const taken = step({ kind: 'wait', sent }, { ...pending, status });
    expect(taken).toMatchObject({ do: 'become', state: { kind: 'failed', reason: 'UnusableCertificate' } });
    expect(taken.do === 'become' && 'message' in taken.state && taken.state.message).toMatch(message);
  });

  it('refuses a certificate for another key', async () => {
    const { stubRequest } = await makePodKey('ED25519');
    const other = { ...pending, spec: { ...pending.spec, stubPKCS10Request: stubRequest } };
    const seen = { ...pending, status: issuedStatus(other, times) };
    expect(step({ kind: 'wait', sent }, seen)).toMatchObject({ state: { kind: 'failed' } });
  });

  it('cuts what a signer says', () => {
    const seen: PodCertificateRequest = {
      ...pending,
      status: { conditions: [{ type: 'Denied', status: 'True', reason: long, message: long }] },
    };
    const taken = step({ kind: 'wait', sent }, seen);
    const { reasonChars, messageChars } = podCertificateLimits;
    expect(taken).toMatchObject({
      state: { reason: 'x'.repeat(reasonChars), message: 'x'.repeat(messageChars) },
    });
  });
});

it('keeps the old certificate while the next is requested, and abandons a request in 10 to 15 minutes', () => {
  const made = { name: 'req-2', uid: 'u2', keyPem: 'new key' };
  const next = { ...made, abandonAtMs: nowMs + 10 * minute + 5 };
  const at = { nowMs, jitterMs: 5 };
  expect(afterSending({ kind: 'initial' }, made, at)).toEqual({ kind: 'wait', sent: next });
  expect(afterSending({ kind: 'fresh', issued }, made, at)).toEqual({
    kind: 'wait-refresh',
    issued,
    sent: next,
  });
});

it('says why there is no certificate', () => {
  expect(refusalOf({ kind: 'initial' })).toBe('credential bundle is not issued yet');
  expect(refusalOf({ kind: 'denied', reason: 'R', message: 'a "b"' })).toBe(
    'PodCertificateRequest was permanently denied: reason="R" message="a \\"b\\""',
  );
  expect(refusalOf({ kind: 'failed', reason: 'R', message: '' })).toBe(
    'PodCertificateRequest was permanently failed: reason="R" message=""',
  );
});

const labels: [state: () => PodCertificateState, atMinute: number, label: string][] = [
  [() => ({ kind: 'initial' }), 0, 'not_yet_issued'],
  [() => ({ kind: 'wait', sent }), 0, 'not_yet_issued'],
  [() => ({ kind: 'fresh', issued }), 40, 'fresh'],
  [() => ({ kind: 'wait-refresh', issued, sent }), 41, 'overdue_for_refresh'],
  [() => ({ kind: 'wait-refresh', issued, sent }), 61, 'expired'],
  [() => ({ kind: 'denied', reason: '', message: '' }), 61, 'denied'],
  [() => ({ kind: 'failed', reason: '', message: '' }), 61, 'failed'],
];
it.each(labels)('the metric shows a state: %# %s %s', (state, atMinute, label) => {
  expect(stateLabel(state(), nowMs + atMinute * minute)).toBe(label);
});

it('a certificate that expired is also overdue', () => {
  expect(latenessOf(issued, nowMs + 61 * minute)).toEqual(['overdue_for_refresh', 'expired']);
});
