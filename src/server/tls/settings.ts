/** The TLS settings of a configuration in the words of the TLS library. */
import { getCiphers, type SecureVersion } from 'node:tls';

export interface TlsConfiguration {
  readonly tlsMinVersion: string;
  readonly tlsCipherSuites: readonly string[];
  readonly tlsCurvePreferences: readonly number[];
}

export interface TlsSettings {
  readonly minVersion: SecureVersion;
  /** OpenSSL names, with colons between them; absent: the library's own choice. */
  readonly ciphers?: string;
  readonly ecdhCurve?: string;
  /** What a person should know of them. */
  readonly warnings: readonly string[];
}

const versions: ReadonlyMap<string, SecureVersion> = new Map([
  ['', 'TLSv1.2'],
  ['VersionTLS10', 'TLSv1'],
  ['VersionTLS11', 'TLSv1.1'],
  ['VersionTLS12', 'TLSv1.2'],
  ['VersionTLS13', 'TLSv1.3'],
]);

/** IANA names and OpenSSL's; `insecure` are those that have known weaknesses. */
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

/** By the number that IANA registered. */
const groups: ReadonlyMap<number, string> = new Map([
  [23, 'P-256'],
  [24, 'P-384'],
  [25, 'P-521'],
  [29, 'X25519'],
  [30, 'X448'],
]);

/** What TLS 1.3 uses cannot be chosen away there, as OpenSSL names both kinds in one list. */
const tls13Suites = ['TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_GCM_SHA256'];

/** Throws for what the library does not know. */
export function tlsSettings(configuration: TlsConfiguration): TlsSettings {
  const { tlsMinVersion, tlsCipherSuites, tlsCurvePreferences } = configuration;
  const minVersion = versions.get(tlsMinVersion);
  if (minVersion === undefined) throw new Error(`unknown tls version ${JSON.stringify(tlsMinVersion)}`);
  const warnings: string[] = [];
  const ciphers = cipherList(tlsCipherSuites, minVersion, warnings);
  const ecdhCurve = curveList(tlsCurvePreferences);
  return {
    minVersion,
    ...(ciphers === undefined ? {} : { ciphers }),
    ...(ecdhCurve === undefined ? {} : { ecdhCurve }),
    warnings,
  };
}

function cipherList(
  names: readonly string[],
  minVersion: SecureVersion,
  warnings: string[],
): string | undefined {
  if (names.length === 0) return undefined;
  const known = new Set(getCiphers());
  const chosen: string[] = [];
  for (const name of names) {
    const suite = suites.get(name);
    if (suite === undefined) throw new Error(`cipher suite ${name} is not supported or does not exist`);
    if (suite.insecure) warnings.push(`the cipher suite ${name} is insecure`);
    if (!known.has(suite.openssl.toLowerCase())) {
      warnings.push(`the cipher suite ${name} is not in this build's TLS library and is left out`);
    } else if (!tls13Suites.includes(suite.openssl)) chosen.push(suite.openssl);
  }
  if (minVersion === 'TLSv1.3') {
    warnings.push('TLS 1.3 has its own cipher suites: tlsCipherSuites is ignored');
    return undefined;
  }
  return [...tls13Suites, ...new Set(chosen)].join(':');
}

function curveList(ids: readonly number[]): string | undefined {
  if (ids.length === 0) return undefined;
  const names = ids.map((id) => {
    const name = groups.get(id);
    if (name === undefined)
      throw new Error(`the TLS library does not know the group ${id} of tlsCurvePreferences`);
    return name;
  });
  return names.join(':');
}
