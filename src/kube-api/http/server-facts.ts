/** The paths that tell about the server itself: its version and its health. */
import { type ApiResponse, jsonResponse } from './contracts.js';
import type { OtherResponder } from './handler.js';

export interface VersionFacts {
  /** `v1.37.1` */
  readonly kubernetesVersion: string;
  /** `linux/amd64` */
  readonly platform: string;
}

const healthPaths = /^\/(healthz|livez|readyz)(\/[a-z/-]*)?$/;

export function serverFacts({ kubernetesVersion, platform }: VersionFacts): OtherResponder {
  const [major = '', minor = ''] = kubernetesVersion.replace(/^v/, '').split('.');
  const version = {
    major,
    minor,
    gitVersion: kubernetesVersion,
    gitCommit: '',
    gitTreeState: '',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: `node${process.version}`,
    compiler: 'nodelet',
    platform,
  };
  return {
    respond({ path }): Promise<ApiResponse | undefined> {
      if (path === '/version') return Promise.resolve(jsonResponse(200, version));
      if (!healthPaths.test(path)) return Promise.resolve(undefined);
      const headers = { 'Content-Type': 'text/plain; charset=utf-8' };
      return Promise.resolve({ status: 200, headers, body: 'ok' });
    },
  };
}
