import { expect, it } from 'vitest';
import { isPlainHttp } from './network-errors.js';

const tlsText = (reason: string): string =>
  `write EPROTO 80CC84204A7F0000:error:0A00010B:SSL routines:ssl3_get_record:${reason}:ssl3_record.c:350:`;

it.each([
  ['ERR_SSL_WRONG_VERSION_NUMBER', '', true],
  ['ERR_SSL_PACKET_LENGTH_TOO_LONG', '', true],
  ['ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR', 'wrong version number', false],
  ['EPROTO', tlsText('wrong version number'), true],
  ['EPROTO', tlsText('unsupported protocol'), false],
  ['ECONNRESET', 'wrong version number', false],
])('%s "%s": the server speaks plain HTTP: %s', (code, message, expected) => {
  expect(isPlainHttp(Object.assign(new Error(message), { code }))).toBe(expected);
});
