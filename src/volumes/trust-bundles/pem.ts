/** Certificates as PEM text, in one form and each once. */
import { createHash } from 'node:crypto';
import { pemBlocks } from '../../x509/pem.js';

const lineLength = 64;

/**
 * All certificates of the texts without anything beside them. Their order means nothing, and is another one in each
 * process (by the seed), so that nobody comes to rely on it; within a process it stays.
 */
export function normalizeCertificates(texts: readonly string[], seed: string): string {
  const certificates = new Map<string, Buffer>();
  for (const text of texts) {
    for (const { body } of pemBlocks(text, 'CERTIFICATE')) {
      const der = Buffer.from(withoutHeaders(body), 'base64');
      if (der.length > 0) certificates.set(rank(der, seed), der);
    }
  }
  return [...certificates]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, der]) => encode(der))
    .join('');
}

/** Headers (`Proc-Type: …`) are separated from the content by an empty line. */
function withoutHeaders(body: string): string {
  if (!body.includes(':')) return body;
  const lines = body.split(/\r?\n/);
  const end = lines.findIndex((line, index) => index > 0 && line.trim() === '');
  return end === -1 ? '' : lines.slice(end).join('\n');
}

function rank(der: Buffer, seed: string): string {
  return createHash('sha256').update(seed).update(der).digest('hex');
}

function encode(der: Buffer): string {
  const lines = der.toString('base64').match(new RegExp(`.{1,${lineLength}}`, 'g')) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}
