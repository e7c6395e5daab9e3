/** The certificates, keys and kubeconfig files of a control plane, made for one run. */
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CertificateSubject, generateKeyPem, makeCertificate } from '../../src/kube-client/index.js';

const dayMs = 24 * 3600 * 1000;

export interface IssueOptions {
  readonly subject: CertificateSubject;
  readonly server?: { readonly dnsNames: readonly string[]; readonly ipAddresses: readonly string[] };
  /** From now; negative for one that has expired. Default: a day. */
  readonly lifetimeMs?: number;
}

export interface IssuedPair {
  readonly certificatePem: string;
  readonly keyPem: string;
}

/** One certificate authority that everything in the cluster trusts. */
export class ClusterPki {
  readonly #dir: string;
  readonly #authority = { subject: { commonName: 'nodelet-test-ca' }, keyPem: generateKeyPem() };
  readonly authorityPem: string;

  constructor(dir: string) {
    this.#dir = dir;
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    this.authorityPem = makeCertificate({
      ...this.#authority,
      notBeforeMs: Date.now() - dayMs,
      notAfterMs: Date.now() + 10 * dayMs,
      isAuthority: true,
    });
    this.#write('ca.crt', this.authorityPem);
    this.#write('ca.key', this.#authority.keyPem);
    const serviceAccountKey = generateKeyPem('rsa-2048');
    this.#write('sa.key', serviceAccountKey);
    const publicKey = createPublicKey(createPrivateKey(serviceAccountKey));
    this.#write('sa.pub', publicKey.export({ type: 'spki', format: 'pem' }).toString());
  }

  path(name: string): string {
    return join(this.#dir, name);
  }

  issue({ subject, server, lifetimeMs = dayMs }: IssueOptions): IssuedPair {
    const keyPem = generateKeyPem();
    const certificatePem = makeCertificate({
      subject,
      keyPem,
      issuer: this.#authority,
      notBeforeMs: Date.now() - dayMs,
      notAfterMs: Date.now() + lifetimeMs,
      usages: server === undefined ? ['clientAuth'] : ['serverAuth', 'clientAuth'],
      ...(server === undefined ? {} : { names: server }),
    });
    return { certificatePem, keyPem };
  }

  /** Writes `<name>.crt` and `<name>.key`. */
  issueFiles(name: string, options: IssueOptions): { readonly certificate: string; readonly key: string } {
    const { certificatePem, keyPem } = this.issue(options);
    return {
      certificate: this.#write(`${name}.crt`, certificatePem),
      key: this.#write(`${name}.key`, keyPem),
    };
  }

  /** Writes a kubeconfig with everything in it and returns its path. */
  kubeconfig(name: string, server: string, user: object): string {
    const content = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        { name: 'test', cluster: { server, 'certificate-authority-data': base64(this.authorityPem) } },
      ],
      users: [{ name, user }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: name } }],
      'current-context': 'test',
    };
    return this.#write(`${name}.kubeconfig`, JSON.stringify(content, null, 2));
  }

  #write(name: string, text: string): string {
    const path = this.path(name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  }
}

export function certificateUser({ certificatePem, keyPem }: IssuedPair): object {
  return { 'client-certificate-data': base64(certificatePem), 'client-key-data': base64(keyPem) };
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
