import { describe, expect, it } from 'vitest';
import { readProviders } from './plugin-config.js';

const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';
const attributes = {
  serviceAccountTokenAudience: 'registry.example',
  cacheType: 'ServiceAccount',
  requireServiceAccount: true,
};

function read(
  tokenAttributes: unknown,
  more: { provider?: object; config?: object; tokensEnabled?: boolean } = {},
) {
  const provider = {
    name: 'ecr',
    apiVersion,
    matchImages: ['*.a.io'],
    defaultCacheDuration: '10m',
    tokenAttributes,
    ...more.provider,
  };
  const text = JSON.stringify({
    apiVersion: 'kubelet.config.k8s.io/v1',
    kind: 'CredentialProviderConfig',
    providers: [provider],
    ...more.config,
  });
  return readProviders([{ path: 'f', text }], { tokensEnabled: more.tokensEnabled ?? true })[0];
}

describe('token attributes', () => {
  it('are parsed', () => {
    expect(
      read({
        ...attributes,
        requiredServiceAccountAnnotationKeys: ['a.io/role', 'A.io/Role'],
        optionalServiceAccountAnnotationKeys: ['b.io/id'],
      })?.tokenAttributes,
    ).toEqual({
      audience: 'registry.example',
      cacheType: 'ServiceAccount',
      requireServiceAccount: true,
      requiredAnnotationKeys: ['a.io/role', 'A.io/Role'],
      optionalAnnotationKeys: ['b.io/id'],
    });
  });

  it.each([undefined, null])('may be %s, whatever the gate', (value) => {
    expect(read(value, { tokensEnabled: false })?.tokenAttributes).toBeUndefined();
  });

  const at = 'providers[0].tokenAttributes';
  it.each<[string, unknown, string, Parameters<typeof read>[1]?]>([
    [
      'without the gate',
      attributes,
      `${at}: Forbidden: tokenAttributes is not supported when KubeletServiceAccountTokenForCredentialProviders feature gate is disabled`,
      { tokensEnabled: false },
    ],
    ['that are no object', 'x', `${at}: Invalid value: not an object`],
    ['with an unknown field', { ...attributes, audience: 'x' }, `${at}: unknown field "audience"`],
    [
      'without an audience',
      { ...attributes, serviceAccountTokenAudience: '' },
      `${at}.serviceAccountTokenAudience: Required value`,
    ],
    [
      'with an audience that is no text',
      { ...attributes, serviceAccountTokenAudience: 1 },
      `${at}.serviceAccountTokenAudience: Invalid value`,
    ],
    [
      'that do not say whether an account is required',
      { ...attributes, requireServiceAccount: undefined },
      `${at}.requireServiceAccount: Required value`,
    ],
    [
      'that say it otherwise',
      { ...attributes, requireServiceAccount: 'yes' },
      `${at}.requireServiceAccount: Invalid value`,
    ],
    [
      'for an older protocol',
      attributes,
      `${at}: Forbidden: tokenAttributes is only supported for credentialprovider.kubelet.k8s.io/v1 API version`,
      { provider: { apiVersion: `${apiVersion}beta1` } },
    ],
    [
      'in a file of an older version',
      attributes,
      'providers[0]: unknown field "tokenAttributes"',
      { config: { apiVersion: 'kubelet.config.k8s.io/v1beta1' } },
    ],
    [
      'with required annotations of an account that is not required',
      { ...attributes, requireServiceAccount: false, requiredServiceAccountAnnotationKeys: ['a.io/role'] },
      `${at}.requiredServiceAccountAnnotationKeys: Forbidden: requireServiceAccount cannot be false when requiredServiceAccountAnnotationKeys is set`,
    ],
    [
      'with a key that is no name',
      { ...attributes, requiredServiceAccountAnnotationKeys: ['a b'] },
      `${at}.requiredServiceAccountAnnotationKeys: Invalid value: "a b"`,
    ],
    [
      'with keys that are no list',
      { ...attributes, optionalServiceAccountAnnotationKeys: 'a' },
      `${at}.optionalServiceAccountAnnotationKeys: Invalid value: not a list of texts`,
    ],
    [
      'with a key twice',
      { ...attributes, optionalServiceAccountAnnotationKeys: ['a', 'a'] },
      `${at}.optionalServiceAccountAnnotationKeys: Duplicate value: "a"`,
    ],
    [
      'with a key that is required and optional',
      {
        ...attributes,
        requiredServiceAccountAnnotationKeys: ['b', 'a'],
        optionalServiceAccountAnnotationKeys: ['a', 'b'],
      },
      `${at}: Invalid value: ["a","b"]: annotation keys cannot be both required and optional`,
    ],
    [
      'without a cache type',
      { ...attributes, cacheType: undefined },
      `${at}.cacheType: Required value: cacheType is required to be set when tokenAttributes is specified. Supported values are: ServiceAccount, Token`,
    ],
    [
      'with an unknown cache type',
      { ...attributes, cacheType: 'Pod' },
      `${at}.cacheType: Unsupported value: "Pod": supported values: "ServiceAccount", "Token"`,
    ],
  ])('%s are rejected', (_, value, message, more = {}) => {
    expect(() => read(value, more)).toThrow(message);
  });
});
