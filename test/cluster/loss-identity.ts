/** What a node is known by to the API server, in files that a test can replace: a pair of certificate and key, or a token. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ControlPlane, TempDir } from '../env/index.js';
import type { LossOptions } from './loss.js';

const subject = { commonName: 'system:node:node1', organizations: ['system:nodes'] };
const name = 'replaceable';

export class ReplaceableIdentity {
  readonly #dir: TempDir;
  #server = '';

  /** In a directory that is there before the control plane, which reads the accepted tokens when it starts. */
  constructor(dir: TempDir) {
    this.#dir = dir;
    this.accept('first');
  }

  /** For a cluster whose node has this identity, a certificate at first. */
  get options(): LossOptions {
    return {
      plane: { apiServerArgs: [`--token-auth-file=${this.#acceptedFile}`] },
      kubeconfig: (plane, server) => {
        this.#server = server;
        return plane.pki.kubeconfig(name, server, this.writeCertificate(plane));
      },
    };
  }

  /** Writes the two files that the kubeconfig names, and returns its user. */
  writeCertificate({ pki }: ControlPlane, lifetimeMs?: number): object {
    const files = pki.issueFiles(name, { subject, ...(lifetimeMs === undefined ? {} : { lifetimeMs }) });
    return { 'client-certificate': files.certificate, 'client-key': files.key };
  }

  /** From its next start on the node has a token, from a file. */
  useToken({ pki }: ControlPlane, token: string): void {
    this.writeToken(token);
    pki.kubeconfig(name, this.#server, { tokenFile: this.#tokenFile });
  }

  writeToken(token: string): void {
    writeFileSync(this.#tokenFile, `${token}\n`);
  }

  /** From its next start on the API server knows the node by this token and by no other. */
  accept(token: string): void {
    writeFileSync(this.#acceptedFile, `${token},${subject.commonName},node1,"${subject.organizations[0]}"\n`);
  }

  get #tokenFile(): string {
    return join(this.#dir.path, 'token');
  }

  get #acceptedFile(): string {
    return join(this.#dir.path, 'tokens.csv');
  }
}
