/** For tests: the main port on this machine, and a client with certificates or tokens. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { baselineConfiguration, type KubeletConfiguration, resolveFeatureGates } from '../../config/index.js';
import { unimplementedCriRuntime } from '../../cri/index.js';
import type { KubeApi, SubjectAccessReview, TokenReview } from '../../kube-client/index.js';
import { Registry } from '../../metrics/index.js';
import { Timeline } from '../../timeline/index.js';
import { testKubelet } from '../api/test-kubelet.js';
import { testAuthority } from '../test-authority.js';
import type { ServingKeyPair } from '../tls/secure-serving.js';
import type { KubeletApiOptions, MainKubelet } from './contracts.js';
import { startKubeletApi } from './kubelet-api.js';

export const authority = testAuthority('cluster-ca');
export const otherAuthority = testAuthority('other-ca');
export const serving = authority.issue({ commonName: 'node-1', usage: 'serverAuth' });
export const alice = authority.issue({ commonName: 'alice', organizations: ['dev'], usage: 'clientAuth' });
export const stranger = otherAuthority.issue({
  commonName: 'alice',
  organizations: ['dev'],
  usage: 'clientAuth',
});

export interface TestApi {
  readonly api: Pick<KubeApi, 'create'>;
  readonly tokenReviews: TokenReview[];
  readonly accessReviews: SubjectAccessReview[];
}

/** Authenticates the token `good` as bob; `allows` decides about access. */
export function testApi(allows: (spec: SubjectAccessReview['spec']) => boolean = () => true): TestApi {
  const tokenReviews: TokenReview[] = [];
  const accessReviews: SubjectAccessReview[] = [];
  const create = async (_: unknown, object: unknown): Promise<unknown> => {
    const review = object as TokenReview | SubjectAccessReview;
    if (review.kind === 'TokenReview') {
      const asked = review as TokenReview;
      tokenReviews.push(asked);
      const authenticated = asked.spec.token === 'good';
      return { ...asked, status: { authenticated, ...(authenticated ? { user: { username: 'bob' } } : {}) } };
    }
    const asked = review as SubjectAccessReview;
    accessReviews.push(asked);
    return { ...asked, status: { allowed: allows(asked.spec) } };
  };
  return { api: { create: create as KubeApi['create'] }, tokenReviews, accessReviews };
}

export interface MainServer {
  readonly port: number;
  readonly timeline: Timeline;
  readonly registry: Registry;
  readonly dir: string;
  readonly caFile: string;
  close(): Promise<void>;
}

export interface MainTestOptions {
  readonly api?: Pick<KubeApi, 'create'>;
  readonly config?: Partial<KubeletConfiguration>;
  readonly gates?: Readonly<Record<string, boolean>>;
  readonly kubelet?: Partial<MainKubelet>;
  readonly options?: Partial<KubeletApiOptions>;
  readonly certificate?: () => ServingKeyPair | undefined;
}

export async function startMain(test: MainTestOptions = {}): Promise<MainServer> {
  const dir = mkdtempSync(path.join(tmpdir(), 'nodelet-main-'));
  const caFile = path.join(dir, 'ca.pem');
  writeFileSync(caFile, authority.pem);
  const { gates } = resolveFeatureGates(test.gates ?? {});
  const timeline = new Timeline();
  const registry = new Registry();
  const config: KubeletConfiguration = {
    ...baselineConfiguration(gates),
    address: '127.0.0.1',
    port: 0,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true, cacheTTL: 120_000 },
      x509: { clientCAFile: '' },
    },
    authorization: {
      mode: 'Webhook',
      webhook: { cacheAuthorizedTTL: 300_000, cacheUnauthorizedTTL: 30_000 },
    },
    ...test.config,
  };
  config.authentication = { ...config.authentication, x509: { clientCAFile: caFile } };
  const base = testKubelet();
  const kubelet: MainKubelet = {
    ...base,
    runtime: unimplementedCriRuntime(),
    nodeName: 'node-1',
    whatIf: {
      evict: () => Promise.reject(new Error('no statistics')),
      gc: () => Promise.reject(new Error('no runtime')),
      shutdown: () => ({ off: 'no logind', delaySeconds: 0, groups: [] }),
      config: async () => undefined,
    },
    allocatedPods: () => base.pods(),
    describeNode: () => Promise.reject(new Error('no node')),
    registry,
    metricsText: () => registry.text(),
    probeMetricsText: () => '',
    onStatus: () => () => {},
    onPods: () => () => {},
    healthChecks: [{ name: 'syncloop', check: () => undefined }],
    ...test.kubelet,
  };
  const listener = await startKubeletApi(kubelet, {
    config,
    gates,
    timeline,
    servingCertificate: test.certificate ?? (() => serving),
    api: test.api ?? testApi().api,
    rootDir: dir,
    version: 'v1.37.1',
    flags: { v: '2', 'node-ip': '10.0.0.1' },
    nodeLogsDir: dir,
    ...test.options,
    limits: { closeGraceMs: 200, ...test.options?.limits },
  });
  const port = listener.address()?.port;
  if (port === undefined) throw new Error('it does not listen');
  return {
    port,
    timeline,
    registry,
    dir,
    caFile,
    async close() {
      await listener.close();
      rmSync(dir, { recursive: true });
    },
  };
}

export interface TestResponse {
  readonly status: number;
  readonly body: string;
  readonly headers: IncomingHttpHeaders;
}

export function call(
  { port }: Pick<MainServer, 'port'>,
  target: string,
  more: {
    readonly as?: ServingKeyPair | undefined;
    readonly token?: string;
    readonly headers?: Record<string, string>;
    readonly body?: string;
    readonly tls?: RequestOptions;
  } = {},
): Promise<TestResponse> {
  const [method = '', place = ''] = target.split(' ');
  const { as, token, headers = {}, body, tls } = more;
  return new Promise((resolve, reject) => {
    const asked = httpsRequest(
      {
        host: '127.0.0.1',
        port,
        method,
        path: place,
        ca: authority.pem,
        agent: false,
        headers: { ...headers, ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }) },
        ...(as === undefined ? {} : { cert: as.certificatePem, key: as.keyPem }),
        ...tls,
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            body: Buffer.concat(chunks).toString(),
            headers: response.headers,
          }),
        );
      },
    );
    asked.on('error', reject);
    asked.end(body);
  });
}
