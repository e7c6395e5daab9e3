/** The client of an agent's kubelet API: HTTPS with the credentials that the user names. */
import { readFile } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { bool, type FlagSpecs, type FlagValues, string } from '../../flags/index.js';
import { RequestRefused } from './connection.js';
import { CommandFailure, UsageError } from './usage-error.js';

export const agentFlags = {
  server: {
    type: string,
    valueName: 'URL',
    about: 'ask the agent with this kubelet API, such as https://node-1:10250, instead of a run',
  },
  'token-file': { type: string, valueName: 'FILE', about: 'file of the bearer token for --server' },
  'client-certificate': {
    type: string,
    valueName: 'FILE',
    about: 'file of the client certificate for --server',
  },
  'client-key': { type: string, valueName: 'FILE', about: 'file of its private key' },
  'certificate-authority': {
    type: string,
    valueName: 'FILE',
    about: 'file of the authority that signed the certificate of --server',
  },
  'insecure-skip-tls-verify': { type: bool, about: 'do not verify the certificate of --server' },
} as const satisfies FlagSpecs;

export interface AgentConnection {
  readonly server: URL;
  readonly token: string | undefined;
  readonly certificate: Buffer | undefined;
  readonly key: Buffer | undefined;
  readonly authority: Buffer | undefined;
  readonly verify: boolean;
}

/** Undefined without --server. */
export async function agentConnection(
  values: FlagValues<typeof agentFlags>,
): Promise<AgentConnection | undefined> {
  const { server: given } = values;
  const certificateFile = values['client-certificate'];
  const keyFile = values['client-key'];
  if (given === undefined) {
    const surplus = Object.keys(agentFlags).find((name) => isGiven(values, name));
    if (surplus !== undefined) throw new UsageError(`--${surplus} needs --server`);
    return undefined;
  }
  if ((certificateFile === undefined) !== (keyFile === undefined))
    throw new UsageError('--client-certificate and --client-key go together');
  const read = async (flag: keyof typeof agentFlags): Promise<Buffer | undefined> => {
    const file = values[flag];
    if (typeof file !== 'string') return undefined;
    try {
      return await readFile(file);
    } catch (error) {
      throw new CommandFailure(
        `--${flag}: cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`,
        { cause: error },
      );
    }
  };
  return {
    server: serverUrl(given),
    token: (await read('token-file'))?.toString('utf8').trim(),
    certificate: await read('client-certificate'),
    key: await read('client-key'),
    authority: await read('certificate-authority'),
    verify: !values['insecure-skip-tls-verify'],
  };
}

function isGiven(values: FlagValues<typeof agentFlags>, name: string): boolean {
  const value: unknown = Object.entries(values).find(([key]) => key === name)?.[1];
  return value !== undefined && value !== false;
}

function serverUrl(given: string): URL {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  // A token must not travel in the clear.
  if (url?.protocol !== 'https:')
    throw new UsageError(`--server ${JSON.stringify(given)}: write a URL such as https://node-1:10250`);
  return url;
}

const longestAnswerBytes = 64 << 20;
const patienceMs = 60_000;

/** Resolves with the body of a success. Rejects with a RequestRefused for any other answer. */
export function requestAgent(
  { server, token, certificate, key, authority, verify }: AgentConnection,
  path: string,
  body?: string,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      new URL(`${server.pathname.replace(/\/$/, '')}${path}`, server),
      {
        method: body === undefined ? 'GET' : 'POST',
        agent: false,
        rejectUnauthorized: verify,
        signal: AbortSignal.timeout(patienceMs),
        headers: token === undefined ? {} : { Authorization: `Bearer ${token}` },
        ...(certificate === undefined ? {} : { cert: certificate }),
        ...(key === undefined ? {} : { key }),
        ...(authority === undefined ? {} : { ca: authority }),
      },
      (response) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > longestAnswerBytes) request.destroy(new Error('the answer of the agent is too long'));
          else chunks.push(chunk);
        });
        response.on('error', (error) => reject(unreachable(server, error)));
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const { statusCode = 0 } = response;
          if (statusCode >= 200 && statusCode < 300) resolve(text);
          else reject(new RequestRefused(statusCode, refusal(statusCode, text)));
        });
      },
    );
    request.on('error', (error) => reject(unreachable(server, error)));
    request.end(body);
  });
}

function refusal(statusCode: number, text: string): string {
  const said = text.trim() === '' ? `status ${statusCode}` : text.trim();
  if (statusCode === 401)
    return `${said}: the agent does not know you; pass --token-file, or --client-certificate and --client-key`;
  if (statusCode === 403) return `${said}: you need the verb get (create for config) on nodes/proxy`;
  return said;
}

function unreachable(server: URL, error: Error): CommandFailure {
  return new CommandFailure(`${server.origin}: ${error.message}`, { cause: error });
}
