/** The default cipher suites of nodelet, for its own port and to the API server. */

/** TLS 1.3: all suites have forward secrecy and authenticated encryption. */
export const tls13Suites: readonly string[] = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
];

/** TLS 1.2 suites with forward secrecy (ECDHE) and authenticated encryption (AEAD), by OpenSSL's names. */
export const tls12Suites: readonly string[] = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
];

/**
 * For a client whose server the node's owner chooses. Node's own list includes CBC, CCM8 and RSA key
 * exchange.
 */
export const strongClientTls = {
  minVersion: 'TLSv1.2',
  ciphers: [...tls13Suites, ...tls12Suites].join(':'),
} as const;
