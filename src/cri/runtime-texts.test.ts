import { expect, it } from 'vitest';
import { CriError } from './errors.js';
import { failureMark, isNotImplemented } from './runtime-texts.js';

it.each([
  ['RegistryUnavailable: dial tcp: connection refused', 'RegistryUnavailable'],
  ['SignatureValidationFailed: rejected by policy', 'SignatureValidationFailed'],
  ['ImageVolumeMountFailed: no such image', 'ImageVolumeMountFailed'],
  ['failed to mount image volume: ImageVolumeMountFailed: no such directory', 'ImageVolumeMountFailed'],
  ['failed to pull: RegistryUnavailable', undefined],
  ['', undefined],
])('the mark of "%s" is %s', (text, mark) => {
  expect(failureMark(text)).toBe(mark);
});

it.each([
  ['Unimplemented', 'unknown method', true],
  ['Unknown', 'not implemented yet', true],
  ['Unknown', 'no such sandbox', false],
  ['Internal', 'not implemented', false],
] as const)('%s, "%s": the runtime does not have the call: %s', (code, details, expected) => {
  expect(isNotImplemented(new CriError(code, details))).toBe(expected);
});
