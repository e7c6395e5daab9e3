/** Certificates as PEM text, normalized and distinct. */
import { createHash } from 'node:crypto';
import { pemBlocks } from '../../x509/pem.js';

const lineLength = 64;

/**
 * All certificates of the texts and nothing else. Their order is meaningless: stable within a process,
 * different in each by its seed, so that no one comes to rely on it.
 */
export function normalizeCertificates(texts: readonly string[], seed: string): string {
  const certificates = new Map<string, Buffer>();
  for (const text of texts) for (const der of dersOf(text)) certificates.set(rank(der, seed), der);
  return [...certificates]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, der]) => encode(der))
    .join('');
}

/** All certificates of the text in their order, and nothing else. */
export function certificateChain(text: string): string {
  return dersOf(text).map(encode).join('');
}

function dersOf(text: string): Buffer[] {
  return pemBlocks(text, 'CERTIFICATE')
    .map(({ body }) => Buffer.from(withoutHeaders(body), 'base64'))
    .filter((der) => der.length > 0);
}

/** An empty line separates headers (`Proc-Type: …`) from the content. */
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
