import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { CriError, PodSandboxState, PodSandboxStatusResponse } from '../../cri/index.js';
import { Timeline } from '../../timeline/index.js';
import { container, exited, makePod, makeStatus, running } from '../test-fixtures.js';
import { machineLogFiles } from './log-files.js';
import {
  hasSandboxEnded,
  orLost,
  patienceAfterFailure,
  patienceBeforeStart,
  SandboxLost,
} from './lost-sandbox.js';

const ready = PodSandboxState.SANDBOX_READY;
const ended = PodSandboxState.SANDBOX_NOTREADY;

describe('hasSandboxEnded', () => {
  it.each<[string, (PodSandboxState | 'NotFound' | 'Unavailable')[], number[], boolean, number]>([
    ['a sandbox that is not ready has ended', [ended], [0, 1], true, 1],
    ['a missing sandbox has ended', ['NotFound'], [0, 1], true, 1],
    ['an unreachable runtime proves nothing', ['Unavailable'], [0, 1], false, 1],
    ['a ready sandbox is checked once per delay', [ready, ended], [0], false, 1],
    ['the end of a sandbox is found by a later check', [ready, ready, ended], [0, 50, 150], true, 3],
    ['a sandbox that stays ready has not ended', [ready, ready, ready], [0, 50, 150], false, 3],
    ['without delays there is no check', [ended], [], false, 0],
  ])('%s', async (_, answers, patience, expected, looks) => {
    const clock = new VirtualClock();
    let asked = 0;
    const cri = {
      async podSandboxStatus() {
        const state = answers[asked++] ?? ready;
        if (typeof state === 'string') throw new CriError(state, 'x');
        return PodSandboxStatusResponse.create({ status: { id: 's', state } });
      },
    };
    const answer = hasSandboxEnded({ clock, cri }, 's', patience, undefined);
    await clock.advance(1_000);
    expect(await answer).toBe(expected);
    expect(asked).toBe(looks);
  });
});

describe('a container that was created in a sandbox that ended', () => {
  const start = async (state: PodSandboxState, refuses = false) => {
    const dir = await mkdtemp(join(tmpdir(), 'nodelet-lost-'));
    const logPath = join(dir, '0.log');
    await writeFile(logPath, '');
    const removed: string[] = [];
    const cri = {
      podSandboxStatus: async () => PodSandboxStatusResponse.create({ status: { id: 's', state } }),
      async removeContainer({ containerId = '' }) {
        if (refuses) throw new CriError('Internal', 'no');
        removed.push(containerId);
        return {};
      },
    };
    const ports = {
      clock: new VirtualClock(),
      cri,
      timeline: new Timeline(),
      logFiles: machineLogFiles(),
    };
    const call = () => Promise.reject(new Error('cannot start'));
    const failure = await orLost(ports, { sandboxId: 's', status: { containers: [] } }, call, {
      id: 'c1',
      logPath,
    }).catch((error: unknown) => error);
    const logs = await readdir(dir);
    await rm(dir, { recursive: true });
    return { failure, removed, logs };
  };
  it('is removed with its log, which counts restarts', async () => {
    const { failure, removed, logs } = await start(ended);
    expect(failure).toBeInstanceOf(SandboxLost);
    expect([removed, logs]).toEqual([['c1'], []]);
  });
  it('that cannot be removed keeps its log', async () => {
    const { failure, logs } = await start(ended, true);
    expect(failure).toBeInstanceOf(SandboxLost);
    expect(logs).toEqual(['0.log']);
  });
  it('stays when the sandbox stays', async () => {
    const { failure, removed, logs } = await start(ready);
    expect(failure).toMatchObject({ message: 'cannot start' });
    expect([removed, logs]).toEqual([[], ['0.log']]);
  });
});

const nowMs = 1_000_000;
const pod = makePod({ containers: [container('app'), container('other')] });
const ago = (ms: number) => ({ finishedAtNs: BigInt(nowMs - ms) * 1_000_000n });

describe('the number of checks after a failure and before a start', () => {
  it.each<[string, Parameters<typeof makeStatus>[1], number, number]>([
    ['nothing ended', [running('app')], 1, 0],
    ['an old exit', [exited('app', 137, ago(6_000))], 1, 0],
    ['a recent exit', [exited('app', 1, ago(100))], 3, 0],
    ['a recent kill', [exited('app', 137, ago(100)), running('other')], 3, 3],
    ['an OOM kill', [exited('app', 137, { ...ago(100), reason: 'OOMKilled' })], 3, 0],
    ['an older kill', [exited('app', 137, ago(2_000))], 3, 0],
  ])('%s', (_, states, afterFailure, beforeStart) => {
    const status = makeStatus(pod, states);
    expect(patienceAfterFailure(status, nowMs)).toHaveLength(afterFailure);
    expect(patienceBeforeStart(status, nowMs)).toHaveLength(beforeStart);
  });
});
