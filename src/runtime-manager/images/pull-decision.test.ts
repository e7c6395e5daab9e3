import { describe, expect, it } from 'vitest';
import { decidePull, explainPullError, pullPolicyOf } from './pull-decision.js';

describe('decidePull', () => {
  it.each([
    ['Always', false, true, 'pull'],
    ['Always', true, false, 'pull'],
    ['IfNotPresent', false, true, 'pull'],
    ['IfNotPresent', true, true, 'use'],
    ['IfNotPresent', true, false, 'pull'],
    ['Never', false, true, 'refuse'],
    ['Never', true, true, 'use'],
    ['Never', true, false, 'refuse'],
  ] as const)('%s, present %s, may use %s: %s', (policy, isPresent, mayUse, action) => {
    expect(decidePull(policy, isPresent, mayUse).action).toBe(action);
  });
  it('does not reveal to a pod without access that the image is present', () => {
    expect(decidePull('Never', true, false)).toEqual(decidePull('Never', false, true));
  });
  it('treats an unset policy as IfNotPresent', () => {
    expect(pullPolicyOf(undefined)).toBe('IfNotPresent');
  });
});

describe('explainPullError', () => {
  it.each([
    ['not found', 'ErrImagePull', 'not found'],
    [
      'RegistryUnavailable: gone',
      'RegistryUnavailable',
      'image pull failed for x because the registry is unavailable: gone',
    ],
    [
      'SignatureValidationFailed: bad',
      'SignatureValidationFailed',
      'image pull failed for x because the signature validation failed: bad',
    ],
    ['later RegistryUnavailable', 'ErrImagePull', 'later RegistryUnavailable'],
  ])('%s', (text, reason, message) => {
    expect(explainPullError('x', text)).toEqual({ reason, message });
  });
});
