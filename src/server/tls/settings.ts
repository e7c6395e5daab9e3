/** Maps a configuration's TLS settings to those of the TLS library. */
import { createSecureContext, getCiphers, type SecureVersion } from 'node:tls';
import { tls12Suites, tls13Suites } from '../../kube-client/tls-suites.js';

export interface TlsConfiguration {
  readonly tlsMinVersion: string;
  readonly tlsCipherSuites: readonly string[];
  readonly tlsCurvePreferences: readonly number[];
}

export interface TlsSettings {
  readonly minVersion: SecureVersion;
  /** OpenSSL names, separated by colons. */
  readonly ciphers: string;
  /** OpenSSL names, separated by colons; absent: the library's own choice. */
  readonly ecdhCurve?: string;
  /** Warnings about them for the administrator. */
  readonly warnings: readonly string[];
}

const versions: ReadonlyMap<string, SecureVersion> = new Map([
  ['', 'TLSv1.2'],
  ['VersionTLS10', 'TLSv1'],
  ['VersionTLS11', 'TLSv1.1'],
  ['VersionTLS12', 'TLSv1.2'],
  ['VersionTLS13', 'TLSv1.3'],
]);

/** IANA names and OpenSSL's; `insecure` ones have known weaknesses. */
const suites: ReadonlyMap<string, { readonly openssl: string; readonly insecure?: true }> = new Map([
  ['TLS_AES_128_GCM_SHA256', { openssl: 'TLS_AES_128_GCM_SHA256' }],
  ['TLS_AES_256_GCM_SHA384', { openssl: 'TLS_AES_256_GCM_SHA384' }],
  ['TLS_CHACHA20_POLY1305_SHA256', { openssl: 'TLS_CHACHA20_POLY1305_SHA256' }],
  ['TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA', { openssl: 'ECDHE-ECDSA-AES128-SHA' }],
  ['TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA', { openssl: 'ECDHE-ECDSA-AES256-SHA' }],
  ['TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA', { openssl: 'ECDHE-RSA-AES128-SHA' }],
  ['TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA', { openssl: 'ECDHE-RSA-AES256-SHA' }],
  ['TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256', { openssl: 'ECDHE-ECDSA-AES128-GCM-SHA256' }],
  ['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384', { openssl: 'ECDHE-ECDSA-AES256-GCM-SHA384' }],
  ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', { openssl: 'ECDHE-RSA-AES128-GCM-SHA256' }],
  ['TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384', { openssl: 'ECDHE-RSA-AES256-GCM-SHA384' }],
  ['TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305', { openssl: 'ECDHE-ECDSA-CHACHA20-POLY1305' }],
  ['TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256', { openssl: 'ECDHE-ECDSA-CHACHA20-POLY1305' }],
  ['TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305', { openssl: 'ECDHE-RSA-CHACHA20-POLY1305' }],
  ['TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256', { openssl: 'ECDHE-RSA-CHACHA20-POLY1305' }],
  ['TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256', { openssl: 'ECDHE-ECDSA-AES128-SHA256', insecure: true }],
  ['TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256', { openssl: 'ECDHE-RSA-AES128-SHA256', insecure: true }],
  ['TLS_ECDHE_ECDSA_WITH_RC4_128_SHA', { openssl: 'ECDHE-ECDSA-RC4-SHA', insecure: true }],
  ['TLS_ECDHE_RSA_WITH_RC4_128_SHA', { openssl: 'ECDHE-RSA-RC4-SHA', insecure: true }],
  ['TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA', { openssl: 'ECDHE-RSA-DES-CBC3-SHA', insecure: true }],
  ['TLS_RSA_WITH_3DES_EDE_CBC_SHA', { openssl: 'DES-CBC3-SHA', insecure: true }],
  ['TLS_RSA_WITH_AES_128_CBC_SHA', { openssl: 'AES128-SHA', insecure: true }],
  ['TLS_RSA_WITH_AES_128_CBC_SHA256', { openssl: 'AES128-SHA256', insecure: true }],
  ['TLS_RSA_WITH_AES_128_GCM_SHA256', { openssl: 'AES128-GCM-SHA256', insecure: true }],
  ['TLS_RSA_WITH_AES_256_CBC_SHA', { openssl: 'AES256-SHA', insecure: true }],
  ['TLS_RSA_WITH_AES_256_GCM_SHA384', { openssl: 'AES256-GCM-SHA384', insecure: true }],
  ['TLS_RSA_WITH_RC4_128_SHA', { openssl: 'RC4-SHA', insecure: true }],
]);

/** By IANA number: those that the reference kubelet accepts, and X448. */
const groups: ReadonlyMap<number, string> = new Map([
  [23, 'P-256'],
  [24, 'P-384'],
  [25, 'P-521'],
  [29, 'X25519'],
  [30, 'X448'],
  [4587, 'SecP256r1MLKEM768'],
  [4588, 'X25519MLKEM768'],
  [4589, 'SecP384r1MLKEM1024'],
]);

/**
 * For a minimum version below 1.2, which the default suites would make ineffective: the nearest suites that
 * such clients have. OpenSSL needs level 0 to speak the older versions at all.
 */
const beforeTls12 = [
  'ECDHE-ECDSA-AES128-SHA',
  'ECDHE-RSA-AES128-SHA',
  'ECDHE-ECDSA-AES256-SHA',
  'ECDHE-RSA-AES256-SHA',
];
const oldVersions = '@SECLEVEL=0';

/** Whether the TLS library supports key exchange in a group. */
export type KnowsGroup = (name: string) => boolean;

/** Throws on unknown names, and when nothing is left to choose from. */
export function tlsSettings(
  configuration: TlsConfiguration,
  knowsGroup: KnowsGroup = libraryKnowsGroup,
): TlsSettings {
  const { tlsMinVersion, tlsCipherSuites, tlsCurvePreferences } = configuration;
  const minVersion = versions.get(tlsMinVersion);
  if (minVersion === undefined) throw new Error(`unknown tls version ${JSON.stringify(tlsMinVersion)}`);
  const warnings: string[] = [];
  const ciphers = cipherList(tlsCipherSuites, minVersion, warnings);
  const ecdhCurve = groupList(tlsCurvePreferences, knowsGroup, warnings);
  return { minVersion, ciphers, ...(ecdhCurve === undefined ? {} : { ecdhCurve }), warnings };
}

/** The suites of TLS 1.3 are in every list: they cannot be chosen, and OpenSSL's list is of both kinds. */
function cipherList(names: readonly string[], minVersion: SecureVersion, warnings: string[]): string {
  const old = minVersion === 'TLSv1' || minVersion === 'TLSv1.1';
  const chosen = chosenSuites(names, warnings);
  if (minVersion === 'TLSv1.3') {
    if (names.length > 0) warnings.push('TLS 1.3 has its own cipher suites: tlsCipherSuites is ignored');
    return tls13Suites.join(':');
  }
  const older = names.length > 0 ? chosen : [...tls12Suites, ...(old ? beforeTls12 : [])];
  return [...tls13Suites, ...older, ...(old ? [oldVersions] : [])].join(':');
}

function chosenSuites(names: readonly string[], warnings: string[]): string[] {
  const known = new Set(getCiphers());
  const chosen = new Set<string>();
  for (const name of names) {
    const suite = suites.get(name);
    if (suite === undefined) throw new Error(`cipher suite ${name} is not supported or does not exist`);
    if (suite.insecure) warnings.push(`the cipher suite ${name} is insecure`);
    if (!known.has(suite.openssl.toLowerCase())) {
      warnings.push(`the cipher suite ${name} is not in this build's TLS library and is left out`);
    } else if (!tls13Suites.includes(suite.openssl)) chosen.add(suite.openssl);
  }
  return [...chosen];
}

function groupList(ids: readonly number[], knowsGroup: KnowsGroup, warnings: string[]): string | undefined {
  if (ids.length === 0) return undefined;
  const wanted = ids.map((id) => {
    const name = groups.get(id);
    if (name === undefined) {
      const known = [...groups].map(([each, itsName]) => `${each} (${itsName})`).join(', ');
      throw new Error(`tlsCurvePreferences: ${id} is not the number of a known group; known are ${known}`);
    }
    return { id, name };
  });
  const usable = wanted.filter(({ name }) => knowsGroup(name));
  const missing = wanted.filter((group) => !usable.includes(group));
  const shown = missing.map(({ id, name }) => `${id} (${name})`).join(', ');
  const library = `OpenSSL ${process.versions.openssl ?? ''} of Node ${process.versions.node}`;
  if (usable.length === 0) {
    throw new Error(
      `tlsCurvePreferences: ${library} has none of the groups ${shown}; add 29 (X25519) or 23 (P-256), or use a newer Node`,
    );
  }
  if (missing.length > 0) {
    warnings.push(`tlsCurvePreferences: ${library} does not have ${shown}, which is left out`);
  }
  return usable.map(({ name }) => name).join(':');
}

function libraryKnowsGroup(name: string): boolean {
  try {
    createSecureContext({ ecdhCurve: name });
    return true;
  } catch {
    return false;
  }
}
