import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { ContainerState, ContainerStatusResponse, ExecSyncResponse } from '../../cri/index.js';
import type { ServerListener } from '../listen.js';
import type { ApiOptions } from './index.js';
import { ask, failing, serveApi, testKubelet } from './test-kubelet.js';

const dir = mkdtempSync(path.join(tmpdir(), 'nodelet-api-'));
const logPath = path.join(dir, '0.log');
afterAll(() => rmSync(dir, { recursive: true }));

let open: ServerListener[] = [];
afterEach(async () => {
  await Promise.all(open.map((listener) => listener.close()));
  open = [];
});

async function api(
  runtime: Parameters<typeof testKubelet>[0] = {},
  options: ApiOptions = {},
): Promise<number> {
  const listener = await serveApi(testKubelet(runtime), options, { closeGraceMs: 200 });
  open.push(listener);
  return listener.port;
}

const line = (stream: string, text: string, second = 0): string =>
  `2026-01-01T00:00:0${second}.5Z ${stream} F ${text}\n`;
const status = (state: ContainerState) => async () =>
  ContainerStatusResponse.create({
    status: { id: 'c1', metadata: { name: 'app' }, logPath, state, createdAt: 1n, image: { image: 'x' } },
  });
const running = { containerStatus: status(ContainerState.CONTAINER_RUNNING) };
const exited = { containerStatus: status(ContainerState.CONTAINER_EXITED) };

describe('containerLogs', () => {
  const undecodable = '{"message": "Unable to decode query."}';
  const invalid = '{"message": "Invalid request."}';
  it.each<[string, string, number, string]>([
    ['an undecodable value', 'default/web/app?tailLines=abc', 400, undecodable],
    ['an invalid value', 'default/web/app?limitBytes=0', 422, invalid],
    ['an unknown pod', 'default/nope/app', 404, 'pod "nope" does not exist'],
    ['a pod of another namespace', 'x/web/app', 404, 'pod "web" does not exist'],
    ['an unknown container', 'default/web/nope', 404, 'container "nope" not found in pod "web"'],
    [
      'one stream without the gate',
      'default/web/app?stream=Stdout',
      400,
      'unable to return the given log stream: "Stdout". Please enable PodLogsQuerySplitStreams feature gate in kubelet',
    ],
    [
      'no previous instance',
      'default/web/app?previous=true',
      400,
      'previous terminated container "app" in pod "web" not found',
    ],
    [
      'a waiting container',
      'default/web/stopped',
      400,
      'container "stopped" in pod "web" is waiting to start: trying and failing to pull image',
    ],
    [
      'a container without a status',
      'default/web/init',
      400,
      'container "init" in pod "web" is not available',
    ],
  ])('%s', async (_, target, code, body) => {
    const port = await api(exited);
    expect(await ask(port, `GET /containerLogs/${target}`)).toMatchObject({ status: code, body });
  });

  it('sends the log in chunks', async () => {
    writeFileSync(logPath, line('stdout', 'out1') + line('stderr', 'err1', 1) + line('stdout', 'out2', 2));
    const port = await api(exited);
    const response = await ask(port, 'GET /containerLogs/default/web/app?timestamps=1&tailLines=2');
    expect(response.body).toBe('2026-01-01T00:00:01.500000000Z err1\n2026-01-01T00:00:02.500000000Z out2\n');
    expect(response.headers['transfer-encoding']).toBe('chunked');
  });

  it('sends one stream with the gate, and counts only its bytes', async () => {
    writeFileSync(
      logPath,
      line('stdout', 'out1') + line('stderr', 'err1') + line('stderr', 'err2') + line('stdout', 'out2'),
    );
    const port = await api(exited, { splitLogStreams: true });
    expect((await ask(port, 'GET /containerLogs/default/web/app?stream=Stdout&limitBytes=6')).body).toBe(
      'out1\no',
    );
  });

  it('ends the body with a late error, and responds 400 if nothing was sent', async () => {
    rmSync(logPath, { force: true });
    const port = await api(exited, { splitLogStreams: true });
    const late = await ask(port, 'GET /containerLogs/default/web/app');
    expect(late).toMatchObject({
      status: 200,
      body: expect.stringContaining('failed to try resolving symlinks'),
    });
    const early = await ask(port, 'GET /containerLogs/default/web/app?stream=Stderr');
    expect(early).toMatchObject({ status: 400, body: late.body });
  });

  const follow = (port: number): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const call = httpRequest(
        { host: '127.0.0.1', port, path: '/containerLogs/default/web/app?follow=1', agent: false },
        resolve,
      );
      call.on('error', reject);
      call.end();
    });

  it('sends the head at once, then what comes, until the listener closes', async () => {
    writeFileSync(logPath, '');
    const port = await api(running);
    const response = await follow(port);
    const chunks: string[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
    appendFileSync(logPath, line('stdout', 'hello'));
    await expect.poll(() => chunks.join('')).toBe('hello\n');
    const ended = new Promise<boolean>((resolve) => response.on('end', () => resolve(response.complete)));
    await open[0]?.close();
    expect(await ended).toBe(true);
    expect(chunks.join('')).toBe('hello\n');
  });

  it('stops reading when the client leaves', async () => {
    writeFileSync(logPath, '');
    let asked = 0;
    const port = await api({
      containerStatus: async () => {
        asked++;
        return running.containerStatus();
      },
    });
    (await follow(port)).destroy();
    await new Promise((resolve) => setTimeout(resolve, 100));
    const before = asked;
    appendFileSync(logPath, line('stdout', 'unheard'));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(asked).toBe(before);
  });
});

describe('run', () => {
  const responderOptions = (exitCode: number, stdout: string, stderr: string) => ({
    execSync: async () =>
      ExecSyncResponse.create({ exitCode, stdout: Buffer.from(stdout), stderr: Buffer.from(stderr) }),
  });
  it('responds with the output of a command', async () => {
    const port = await api(responderOptions(0, 'hi\n', 'err'));
    const response = await ask(port, 'POST /run/default/web/app?cmd=echo+hi');
    expect(response).toMatchObject({
      status: 200,
      body: 'hi\nerr',
      headers: { 'content-type': 'application/json' },
    });
  });
  it.each([
    ['a command that fails', 'POST /run/default/web/app?cmd=false', 500, "command 'false' exited with 1: "],
    ['an unknown pod', 'POST /run/default/nope/app?cmd=x', 404, 'pod does not exist'],
    [
      'a container that is not running',
      'POST /run/default/web/uid-1/stopped?cmd=x',
      500,
      'container not found ("stopped")',
    ],
    ['another method', 'GET /run/default/web/app', 405, '405: Method Not Allowed'],
  ])('%s', async (_, target, code, body) => {
    expect(await ask(await api(responderOptions(1, '', '')), target)).toMatchObject({ status: code, body });
  });
});

describe('streams', () => {
  const noStreams = 'you must specify at least 1 of stdin, stdout, stderr';
  it.each<[string, string, number, string]>([
    ['no stream', 'POST /exec/default/web/app?command=ls', 400, noStreams],
    ['only 1 is a yes', 'POST /exec/default/web/app?command=ls&output=true', 400, noStreams],
    ['an unknown pod', 'POST /exec/default/nope/app?output=1', 404, 'pod does not exist'],
    [
      'a container that is not running',
      'POST /exec/default/web/stopped?output=1',
      500,
      'container not found ("stopped")',
    ],
    [
      'a uid before the container',
      'POST /exec/default/web/any/stopped?output=1',
      500,
      'container not found ("stopped")',
    ],
    [
      'attach to a container that is not running',
      'POST /attach/default/web/stopped?output=1',
      500,
      'container stopped not found in pod web_default',
    ],
    [
      'attach with a wrong uid',
      'POST /attach/default/web/other/app?output=1',
      500,
      'pod web_default not found',
    ],
    ['forward of an unknown pod', 'POST /portForward/default/nope', 404, 'pod does not exist'],
    ['forward with a wrong uid', 'POST /portForward/default/web/other', 404, 'pod not found'],
    ['another method', 'PUT /exec/default/web/app', 405, '405: Method Not Allowed'],
    ['too few segments', 'POST /exec/a', 404, '404: Page Not Found'],
    ['no segment', 'POST /exec', 404, '404: Page Not Found'],
  ])('%s', async (_, target, code, body) => {
    expect(await ask(await api(), target)).toMatchObject({ status: code, body });
  });

  it('allows two methods', async () => {
    expect((await ask(await api(), 'PUT /exec/default/web/app')).headers.allow).toBe('GET, POST');
  });

  it.each([
    ['NotFound', 404, undefined],
    ['ResourceExhausted', 429, '60'],
    ['InvalidArgument', 500, undefined],
  ] as const)('tells what the runtime says: %s is %i', async (code, statusCode, retryAfter) => {
    const port = await api({ exec: failing(code, 'because') });
    const response = await ask(port, 'POST /exec/default/web/app?output=1');
    expect([response.status, response.body, response.headers['retry-after']]).toEqual([
      statusCode,
      `rpc error: code = ${code} desc = because`,
      retryAfter,
    ]);
  });

  it('requests a terminal as the container’s spec says', async () => {
    const asked: unknown[] = [];
    const port = await api({
      attach: async (request) => {
        asked.push(request);
        return { url: 'http://127.0.0.1:1/' };
      },
    });
    await ask(port, 'POST /attach/default/web/app?output=1&error=1');
    expect(asked).toEqual([{ containerId: 'c1', stdin: false, stdout: true, stderr: true, tty: true }]);
  });

  it('requires an upgrade in the end', async () => {
    const port = await api({ exec: async () => ({ url: 'http://127.0.0.1:1/' }) });
    expect(await ask(port, 'POST /exec/default/web/app?output=1')).toMatchObject({
      status: 500,
      body: 'Upgrade request required\n',
    });
  });
});
