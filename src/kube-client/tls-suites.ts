/** The cipher suites that nodelet speaks when nobody chose others, on its own port and to the API server. */

/** Those of TLS 1.3: all of them have forward secrecy and authenticated encryption. */
export const tls13Suites: readonly string[] = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
];

/** Those of TLS 1.2 with forward secrecy (ECDHE) and authenticated encryption (AEAD), by OpenSSL's names. */
export const tls12Suites: readonly string[] = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
];

/** For a client whose server is chosen by the node's owner. Node's own list has CBC, CCM8 and key exchange by RSA. */
export const strongClientTls = {
  minVersion: 'TLSv1.2',
  ciphers: [...tls13Suites, ...tls12Suites].join(':'),
} as const;
