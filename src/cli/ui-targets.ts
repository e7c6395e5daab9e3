/** Which node `nodelet ui` shows: that of a run, of a bare node, or of an agent, and how it is reached. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { FlagValues } from '../flags/index.js';
import type { NodeTarget } from '../page/contracts.js';
import { type AgentConnection, agentConnection, type agentFlags } from './client/agent-connection.js';
import { connectTo } from './client/connection.js';
import { CommandFailure, UsageError } from './client/usage-error.js';
import { listRuns } from './run/state.js';
import { bareNodeSocket, defaultStateDir } from './up/state-dir.js';

export interface UiTargetFlags extends FlagValues<typeof agentFlags> {
  readonly kubeconfig: string | undefined;
  readonly node: string | undefined;
  readonly 'state-dir': string | undefined;
  readonly run: string | undefined;
  readonly socket: string | undefined;
}

export async function uiTarget(values: UiTargetFlags): Promise<NodeTarget> {
  const { kubeconfig, node, server, socket, run, 'state-dir': stateDir } = values;
  const named = Object.entries({ kubeconfig, server, socket, run, 'state-dir': stateDir }).flatMap(
    ([name, value]) => (value === undefined ? [] : [`--${name}`]),
  );
  if (named.length > 1) throw new UsageError(`name one node: ${named.join(' or ')}`);
  if ((kubeconfig === undefined) !== (node === undefined))
    throw new UsageError('--kubeconfig and --node go together');
  const agent = await agentConnection(values);
  if (agent !== undefined) return agentTarget(agent);
  if (kubeconfig !== undefined && node !== undefined) return clusterTarget(kubeconfig, node);
  if (stateDir !== undefined) return bareNodeTarget(path.resolve(stateDir));
  if (socket === undefined && run === undefined && (await showsBareNode()))
    return bareNodeTarget(defaultStateDir());
  return runTarget({ run, socket });
}

/** A run comes first, as for every other command. */
async function showsBareNode(): Promise<boolean> {
  const runs = await listRuns();
  return !runs.some(({ alive }) => alive) && existsSync(bareNodeSocket(defaultStateDir()));
}

function runTarget(flags: {
  readonly run: string | undefined;
  readonly socket: string | undefined;
}): NodeTarget {
  return {
    kind: 'run',
    name: flags.socket ?? (flags.run === undefined ? 'the run' : `run ${flags.run}`),
    endpoint: async () => ({ kind: 'socket', socketPath: (await connectTo(flags)).socketPath }),
  };
}

function bareNodeTarget(stateDir: string): NodeTarget {
  return {
    kind: 'bare node',
    name: `the bare node of ${stateDir}`,
    async endpoint() {
      const socketPath = bareNodeSocket(stateDir);
      if (!existsSync(socketPath))
        throw new CommandFailure(`no bare node runs with ${stateDir}: start it with nodelet up`);
      return { kind: 'socket', socketPath };
    },
  };
}

function agentTarget({ server, token, certificate, key, authority, verify }: AgentConnection): NodeTarget {
  return {
    kind: 'agent',
    name: server.origin,
    endpoint: async () => ({
      kind: 'https',
      url: server,
      headers: bearer(token),
      tls: {
        rejectUnauthorized: verify,
        ...(certificate === undefined ? {} : { cert: certificate }),
        ...(key === undefined ? {} : { key }),
        ...(authority === undefined ? {} : { ca: authority }),
      },
    }),
  };
}

function bearer(token: string | undefined): Record<string, string> {
  return token === undefined ? {} : { Authorization: `Bearer ${token}` };
}

/** The API server passes requests on to the node, for those who may `get` nodes/proxy. */
async function clusterTarget(file: string, node: string): Promise<NodeTarget> {
  const [{ loadKubeconfig, KubeconfigError }, { credentialsOf, pemReader }, { systemClock: clock }] =
    await Promise.all([
      import('../kube-client/kubeconfig.js'),
      import('../kube-client/credentials.js'),
      import('../async/index.js'),
    ]);
  const access = await loadKubeconfig(file).catch((error: unknown) => {
    throw error instanceof KubeconfigError ? new UsageError(error.message, { cause: error }) : error;
  });
  const { server, certificateAuthority, insecureSkipTlsVerify, tlsServerName } = access.endpoint;
  if (server.protocol !== 'https:') throw new UsageError(`${file}: the server is not reached over https`);
  const readAuthority = pemReader(clock, certificateAuthority);
  const credentials = credentialsOf({ clock, access });
  const url = new URL(
    `${server.pathname.replace(/\/$/, '')}/api/v1/nodes/${encodeURIComponent(node)}/proxy`,
    server,
  );
  return {
    kind: 'agent',
    name: `${node} through ${server.origin}`,
    async endpoint() {
      const [ca, { bearerToken, clientCertificate }] = await Promise.all([
        readAuthority(),
        credentials.current(),
      ]);
      return {
        kind: 'https',
        url,
        apiServer: server,
        headers: bearer(bearerToken),
        tls: {
          rejectUnauthorized: !insecureSkipTlsVerify,
          ...(ca === undefined ? {} : { ca }),
          ...(tlsServerName === undefined ? {} : { servername: tlsServerName }),
          ...(clientCertificate === undefined
            ? {}
            : { cert: clientCertificate.certificatePem, key: clientCertificate.keyPem }),
        },
      };
    },
  };
}
