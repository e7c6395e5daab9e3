import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import { CachedServiceAccountTokens, type PodTokenRequest } from './service-account-tokens.js';

const minuteMs = 60_000;
const signal = new AbortController().signal;

function podNamed(name: string): Pod {
  return {
    metadata: { name, namespace: 'shop', uid: `uid-${name}` },
    spec: { containers: [], serviceAccountName: 'seller' },
  };
}

let clock: VirtualClock;
let requests: PodTokenRequest[];
let failure: string | undefined;
let tokens: CachedServiceAccountTokens;
let notes: string[];

beforeEach(() => {
  clock = new VirtualClock();
  requests = [];
  notes = [];
  failure = undefined;
  tokens = new CachedServiceAccountTokens({
    clock,
    random: () => 0,
    requestToken: async (request) => {
      requests.push(request);
      if (failure !== undefined) throw new Error(failure);
      return {
        token: `token-${requests.length}`,
        expiresAtMs: clock.now() + request.expirationSeconds * 1000,
        lifetimeSeconds: request.expirationSeconds,
      };
    },
    onRefreshFailed: (request, error) => notes.push(`${request.serviceAccountName}: ${error.message}`),
  });
});

const ask = (pod = podNamed('a'), audience?: string, expirationSeconds = 3600) =>
  tokens.token({ pod, audience, expirationSeconds, signal });

describe('service account tokens', () => {
  it('requests a token bound to the pod', async () => {
    await ask(podNamed('a'), 'vault', 600);
    expect(requests).toEqual([
      {
        namespace: 'shop',
        serviceAccountName: 'seller',
        audiences: ['vault'],
        expirationSeconds: 600,
        boundPod: { name: 'a', uid: 'uid-a' },
      },
    ]);
  });

  it('shares one token between the volumes of a pod, and none between pods, audiences or lifetimes', async () => {
    const first = await ask();
    expect(await ask()).toBe(first);
    const others = [
      await ask(podNamed('b')),
      await ask(podNamed('a'), 'vault'),
      await ask(podNamed('a'), undefined, 7200),
    ];
    expect(new Set([first, ...others]).size).toBe(4);
  });

  it('shares none between an account of a given UID and whatever has the name', async () => {
    const request = { pod: podNamed('a'), audience: undefined, expirationSeconds: 3600, signal };
    const tokensOf = await Promise.all([
      tokens.token(request),
      tokens.token({ ...request, serviceAccountUid: 'u1' }),
      tokens.token({ ...request, serviceAccountUid: 'u2' }),
    ]);
    expect(new Set(tokensOf).size).toBe(3);
    expect(requests.map(({ serviceAccountUid }) => serviceAccountUid)).toEqual([undefined, 'u1', 'u2']);
  });

  it('keeps a 60 min token at 10 min and replaces it at 50 min', async () => {
    const first = await ask();
    await clock.advance(10 * minuteMs);
    expect(await ask()).toBe(first);
    await clock.advance(40 * minuteMs);
    expect(await ask()).toBe('token-2');
  });

  it('replaces a 60 h token at 25 h', async () => {
    await ask(podNamed('a'), undefined, 60 * 3600);
    await clock.advance(25 * 60 * minuteMs);
    expect(await ask(podNamed('a'), undefined, 60 * 3600)).toBe('token-2');
  });

  it('uses the old token while it is valid if the refresh fails', async () => {
    const first = await ask();
    failure = 'the API is away';
    await clock.advance(50 * minuteMs);
    expect(await ask()).toBe(first);
    expect(notes).toEqual(['seller: the API is away']);
  });

  it('fails once the old token has expired', async () => {
    await ask();
    failure = 'the API is away';
    await clock.advance(59.5 * minuteMs);
    await ask();
    await clock.advance(0.6 * minuteMs);
    await expect(ask()).rejects.toThrow(
      'token "seller"/"shop"/[]string(nil)/3600/v1.BoundObjectReference{Kind:"Pod", APIVersion:"v1", Name:"a", UID:"uid-a"}/"" expired and refresh failed: the API is away',
    );
  });

  it('fails if there is no token at all', async () => {
    failure = 'forbidden';
    await expect(ask()).rejects.toThrow('failed to fetch token: forbidden');
  });

  it("drops a pod's tokens, and expired ones within a minute of use", async () => {
    await ask(podNamed('a'));
    await ask(podNamed('b'), undefined, 600);
    tokens.forget('uid-a');
    expect(tokens.size).toBe(1);
    await clock.advance(11 * minuteMs);
    await ask(podNamed('c'));
    expect(tokens.size).toBe(1);
  });
});
