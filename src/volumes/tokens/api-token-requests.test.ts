import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import { SimulatedKubeApi } from '../../kube-api/index.js';
import { ApiError, resources } from '../../kube-client/index.js';
import { apiTokenRequests } from './api-token-requests.js';
import { CachedServiceAccountTokens } from './service-account-tokens.js';

let clock: VirtualClock;
let api: SimulatedKubeApi;
let tokens: CachedServiceAccountTokens;
const pod: Pod = {
  metadata: { name: 'web', namespace: 'n', uid: 'u' },
  spec: { containers: [], serviceAccountName: 'robot' },
};
const token = (): Promise<string> =>
  tokens.token({ pod, audience: 'vault', expirationSeconds: 3600, signal: new AbortController().signal });
const asked = (): number => api.calls.filter(({ subresource }) => subresource === 'token').length;

beforeEach(async () => {
  clock = new VirtualClock();
  api = new SimulatedKubeApi({ clock });
  tokens = new CachedServiceAccountTokens({ clock, requestToken: apiTokenRequests(api), random: () => 0 });
});
const createAccount = () =>
  api.create(resources.serviceAccounts, { metadata: { name: 'robot', namespace: 'n' } });

describe('apiTokenRequests', () => {
  it('requests a token bound to the pod', async () => {
    await createAccount();
    let body: unknown;
    const requestToken = apiTokenRequests({
      ...api,
      post: (subresource, ref, given, options) => {
        body = { name: subresource.name, ref, given };
        return api.post(subresource, ref, given, options);
      },
    } as typeof api);
    const issued = await requestToken(
      {
        namespace: 'n',
        serviceAccountName: 'robot',
        audiences: [],
        expirationSeconds: 600,
        boundPod: { name: 'web', uid: 'u' },
      },
      new AbortController().signal,
    );
    expect(body).toEqual({
      name: 'token',
      ref: { namespace: 'n', name: 'robot' },
      given: {
        spec: {
          audiences: [],
          expirationSeconds: 600,
          boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'web', uid: 'u' },
        },
      },
    });
    expect(issued).toEqual({
      token: expect.any(String),
      expiresAtMs: clock.now() + 600_000,
      lifetimeSeconds: 600,
    });
  });
  it('is refused for an account that was made anew under the name', async () => {
    const { metadata } = await createAccount();
    const request = {
      namespace: 'n',
      serviceAccountName: 'robot',
      audiences: ['vault'],
      expirationSeconds: 600,
      boundPod: { name: 'web', uid: 'u' },
    };
    const { signal } = new AbortController();
    const requestToken = apiTokenRequests(api);
    await expect(
      requestToken({ ...request, serviceAccountUid: metadata.uid }, signal),
    ).resolves.toBeDefined();
    await expect(requestToken({ ...request, serviceAccountUid: 'old' }, signal)).rejects.toThrow(
      'the UID in the token request (old) does not match the UID of the service account',
    );
  });
  it('caches a token and renews it before expiry; an unreachable API does not matter until then', async () => {
    await createAccount();
    const first = await token();
    await clock.advance(10 * 60_000);
    expect([await token(), asked()]).toEqual([first, 1]);
    api.setReachable(false);
    await clock.advance(40 * 60_000);
    expect(await token()).toBe(first);
    api.setReachable(true);
    expect(await token()).not.toBe(first);
  });
  it('names a missing account', async () => {
    await expect(token()).rejects.toThrow('failed to fetch token: serviceaccounts "robot" not found');
  });
  it('reports a missing endpoint', async () => {
    const error = new ApiError({ code: 404, message: 'the server could not find the requested resource' });
    api.faults.add({ verb: 'post', fault: { kind: 'refuse', error } });
    await expect(token()).rejects.toThrow('the API server does not have TokenRequest endpoints enabled');
  });
});
