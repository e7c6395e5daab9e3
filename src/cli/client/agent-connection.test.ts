import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type MainServer, startMain, testApi } from '../../server/main/test-main.js';
import { agentConnection, agentFlags, requestAgent } from './agent-connection.js';
import { parseCommandFlags } from './flags.js';

const servers: MainServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

const connect = (...argv: string[]) => agentConnection(parseCommandFlags(argv, agentFlags).values);

describe('the flags of an agent', () => {
  it.each([
    ['a token without a server', ['--token-file', 'x'], '--token-file needs --server'],
    ['a server in the clear', ['--server', 'http://node-1:10255'], 'write a URL such as https://'],
    ['no URL', ['--server', 'node-1'], 'write a URL such as https://'],
    [
      'a certificate without its key',
      ['--server', 'https://node-1:10250', '--client-certificate', 'x'],
      'go together',
    ],
    [
      'a file that is not there',
      ['--server', 'https://node-1:10250', '--token-file', '/nonexistent/t'],
      '--token-file: cannot read /nonexistent/t',
    ],
  ])('%s is refused', async (_, argv, message) => {
    await expect(connect(...argv)).rejects.toThrow(message);
  });

  it('none of them means a run', async () => {
    expect(await connect()).toBeUndefined();
  });
});

describe('requestAgent', () => {
  async function start(options: Parameters<typeof startMain>[0] = {}) {
    const server = await startMain(options);
    servers.push(server);
    const token = path.join(server.dir, 'token');
    writeFileSync(token, 'good\n');
    const send = async (question: string, body: string | undefined, ...argv: string[]): Promise<string> => {
      const url = `https://localhost:${server.port}`;
      const connection = await connect('--server', url, '--insecure-skip-tls-verify', ...argv);
      return requestAgent(connection!, `/debug/what-if/${question}`, body);
    };
    const ask = (question: string, ...argv: string[]) => send(question, undefined, ...argv);
    return { ask, send, token };
  }
  const gc = async () => ({ imageBytes: { now: 1, underDiskPressure: 2 } }) as never;
  const shutdown = () => ({ off: 'no logind', delaySeconds: 0, groups: [] });
  const config = async (text: string, file?: string) =>
    ({ kind: 'refused', file: file ?? '', problem: text }) as const;
  const evict = () => Promise.reject(new Error('no statistics'));

  it('asks as a caller who may use the proxy of the node', async () => {
    const { api, accessReviews } = testApi();
    const { ask, token } = await start({ api, kubelet: { whatIf: { gc, evict, shutdown, config } } });
    expect(JSON.parse(await ask('gc', '--token-file', token))).toMatchObject({ imageBytes: { now: 1 } });
    expect(accessReviews.map(({ spec }) => spec.resourceAttributes)).toMatchObject([
      { verb: 'get', resource: 'nodes', subresource: 'proxy', name: 'node-1' },
    ]);
    await expect(ask('evict', '--token-file', token)).rejects.toThrow(
      'the node cannot be seen now: no statistics',
    );
  });

  it('asks for the description of the node as the same caller', async () => {
    const { api, accessReviews } = testApi();
    const { ask, token } = await start({
      api,
      kubelet: { describeNode: async () => ({ name: 'n' }) as never },
    });
    expect(JSON.parse(await ask('../describe/node', '--token-file', token))).toEqual({ name: 'n' });
    expect(accessReviews.map(({ spec }) => spec.resourceAttributes)).toMatchObject([
      { verb: 'get', resource: 'nodes', subresource: 'proxy', name: 'node-1' },
    ]);
    const other = await start();
    await expect(other.ask('../describe/node', '--token-file', other.token)).rejects.toThrow(
      'the node cannot be described now: no node',
    );
  });

  it('sends a file with its name, for which it needs another verb', async () => {
    const { api, accessReviews } = testApi();
    const { send, token } = await start({ api, kubelet: { whatIf: { gc, evict, shutdown, config } } });
    const sent = (query: string, body: string) => send(`config${query}`, body, '--token-file', token);
    expect(JSON.parse(await sent('?file=/etc/new.yaml', 'maxPods: 1'))).toEqual({
      kind: 'refused',
      file: '/etc/new.yaml',
      problem: 'maxPods: 1',
    });
    expect(accessReviews[0]?.spec.resourceAttributes).toMatchObject({ verb: 'create', subresource: 'proxy' });
    await expect(sent('?file=new.yaml', 'maxPods: 1')).rejects.toThrow('file must be an absolute path');
    await expect(sent('', ' ')).rejects.toThrow('it is empty');
  });

  it.each<[string, Parameters<typeof startMain>[0], boolean, string]>([
    ['a stranger', {}, false, 'pass --token-file'],
    ['a caller without the right', { api: testApi(() => false).api }, true, 'on nodes/proxy'],
    [
      'everybody, where debugging is off',
      { config: { enableDebuggingHandlers: false } },
      true,
      'Debug endpoints are disabled.',
    ],
  ])('%s is refused', async (_, options, known, message) => {
    const { ask, token } = await start(options);
    await expect(ask('gc', ...(known ? ['--token-file', token] : []))).rejects.toThrow(message);
  });

  it('trusts only the authority that is named', async () => {
    const { ask, token } = await start();
    await expect(ask('gc', '--token-file', token, '--insecure-skip-tls-verify=false')).rejects.toThrow(
      'certificate',
    );
  });
});
