/** Probes in a whole kubelet: what they do to readiness, restarts and start-up. */
import { afterEach, describe, expect, it } from 'vitest';
import { CriError, type CriRuntime } from '../../src/cri/index.js';
import { endNodes, minute, second } from './node.js';
import { apiPod } from './pods.js';
import { app, count, exec, nodeWith, runningId, scripted, shape, unhealthy } from './probe-script.js';

afterEach(endNodes);

describe('readiness', () => {
  it('makes the pod ready and unready, with each failing run an event, and never restarts', async () => {
    const script = scripted({ ready: { exitCode: 1, stdout: 'not yet' } });
    const node = await nodeWith(script);
    node.set([apiPod('a', shape([app({ readinessProbe: exec('ready') })]))]);
    await node.until('it runs', () => script.machine.running('a').length === 1);
    await node.advance(10 * second);
    expect(node.isReady('a')).toBe(false);
    expect(node.container('a')).toMatchObject({ started: true, ready: false });
    expect(node.status('a')?.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({
      status: 'False',
      reason: 'ContainersNotReady',
      message: 'containers with unready status: [app]',
    });
    expect(unhealthy(node).length).toBeGreaterThan(5);
    expect(new Set(unhealthy(node))).toEqual(new Set(['Readiness probe failed: not yet']));
    expect(node.events('a', 'Unhealthy')[0]?.event?.fieldPath).toBe('spec.containers{app}');

    delete script.answers.ready;
    await node.untilReady('a', 2 * second);
    script.answers.ready = { exitCode: 1 };
    await node.advance(1_500);
    expect(node.isReady('a'), 'below the threshold of three').toBe(true);
    await node.until('it is unready', () => !node.isReady('a'), 3 * second);
    expect(script.machine.seenContainers('a')).toHaveLength(1);
  });

  it('needs as many successes in a row as its threshold says', async () => {
    const script = scripted();
    const node = await nodeWith(script);
    node.set([
      apiPod('a', shape([app({ readinessProbe: exec('ready', { successThreshold: 4, periodSeconds: 2 }) })])),
    ]);
    await node.untilReady('a');
    expect(count(script, 'ready')).toBe(4);
  });

  it('of a container without a probe is that it runs', async () => {
    const node = await nodeWith(scripted());
    node.set([apiPod('a', shape([app({ livenessProbe: exec('live') })]))]);
    await node.untilReady('a', second);
  });

  it('with an initial delay is not probed before', async () => {
    const script = scripted();
    const node = await nodeWith(script);
    node.set([apiPod('a', shape([app({ readinessProbe: exec('ready', { initialDelaySeconds: 30 }) })]))]);
    await node.until('it runs', () => script.machine.running('a').length === 1);
    await node.advance(29 * second);
    expect(script.commands).toEqual([]);
    expect(node.isReady('a')).toBe(false);
    await node.untilReady('a', 3 * second);
  });
});

describe('liveness', () => {
  it('counts failures in a row, kills once with its own grace, and holds until there is a new container', async () => {
    const outcomes = [1, 1, 0, 1, 1, 1];
    let runs = 0;
    const script = scripted({}, () => ({ exitCode: outcomes[runs++] ?? 0, stdout: 'sick' }));
    const node = await nodeWith(script);
    node.set([
      apiPod(
        'a',
        shape([app({ livenessProbe: exec('live', { terminationGracePeriodSeconds: 5 }) })], {
          graceSeconds: 500,
          sim: { 'ignores-term': 'true' },
        }),
      ),
    ]);
    await node.untilReady('a');
    const first = runningId(script);
    await node.until('it is killed', () => node.events('a', 'Killing').length === 1);
    expect(node.events('a', 'Killing')[0]?.message).toBe(
      'Container app failed liveness probe, will be restarted',
    );
    expect(runs).toBe(6);
    const killedAtMs = node.clock.now();
    await node.advance(4 * second);
    expect(runs, 'on hold while it is stopped').toBe(6);
    await node.until('a new one runs', () => {
      const id = runningId(script);
      return id !== undefined && id !== first;
    });
    expect(node.clock.now() - killedAtMs).toBeLessThan(6 * second);
    expect(node.line.of('stopContainer').at(-1)?.request).toMatchObject({ timeout: 5 });
    await node.advance(5 * second);
    expect(node.container('a')).toMatchObject({
      ready: true,
      restartCount: 1,
      lastState: { terminated: { exitCode: 137 } },
    });
    expect(runs).toBeGreaterThan(8);
    expect(unhealthy(node)).toEqual(Array(5).fill('Liveness probe failed: sick'));
  });

  it('kills without a restart where the policy is Never', async () => {
    const script = scripted({ live: { exitCode: 1 } });
    const node = await nodeWith(script);
    const containers = [app({ livenessProbe: exec('live') }), { name: 'other', image: 'other:1' }];
    node.set([apiPod('a', shape(containers, { spec: { restartPolicy: 'Never' } }))]);
    await node.until('it is killed', () => node.events('a', 'Killing').length === 1);
    expect(node.events('a', 'Killing')[0]?.message).toBe('Container app failed liveness probe');
    await node.advance(minute);
    expect(script.machine.running('a').map(({ name }) => name)).toEqual(['other']);
    expect(node.container('a')?.restartCount).toBe(0);
    const probes = count(script, 'live');
    const syncs = node.entries.length;
    await node.advance(minute);
    expect(count(script, 'live'), 'what ended for good is not probed').toBe(probes);
    expect(node.entries.length - syncs, 'nor looked at over and over').toBeLessThan(20);
  });

  it('a command that takes too long has failed', async () => {
    const script = scripted({ live: { durationMs: 60_000 } });
    const node = await nodeWith(script);
    node.set([apiPod('a', shape([app({ livenessProbe: exec('live', { failureThreshold: 1 }) })]))]);
    await node.until('it is killed', () => node.events('a', 'Killing').length === 1, 10 * second);
    expect(unhealthy(node)).toEqual(['Liveness probe failed: command timed out: "live" timed out after 1s']);
  });

  it('a runtime that does not answer at all does not keep a probe waiting', async () => {
    const script = scripted();
    const aborted: boolean[] = [];
    const execSync: CriRuntime['execSync'] = (_, options) =>
      new Promise((_resolve, reject) => {
        options?.signal?.addEventListener('abort', () => {
          aborted.push(true);
          reject(new CriError('Canceled', 'context canceled'));
        });
      });
    const node = await nodeWith(script, { through: (machine) => ({ ...machine, execSync }) });
    node.set([apiPod('a', shape([app({ livenessProbe: exec('live', { failureThreshold: 2 }) })]))]);
    await node.until('it is killed', () => node.events('a', 'Killing').length === 1, 10 * second);
    expect(new Set(unhealthy(node))).toEqual(
      new Set(['Liveness probe failed: command timed out: "live" timed out after 1s']),
    );
    expect(aborted.length, 'the calls are given up').toBeGreaterThanOrEqual(2);
  });

  it('a check that cannot be made is tried three times and changes nothing', async () => {
    const script = scripted();
    let calls = 0;
    const execSync: CriRuntime['execSync'] = () => {
      calls++;
      return Promise.reject(new CriError('Unknown', 'no such process'));
    };
    const node = await nodeWith(script, { through: (machine) => ({ ...machine, execSync }) });
    node.set([
      apiPod('a', shape([app({ livenessProbe: exec('live', { failureThreshold: 1, periodSeconds: 10 }) })])),
    ]);
    await node.until('it was tried', () => unhealthy(node).length === 1, 20 * second);
    expect(calls).toBe(3);
    expect(unhealthy(node)).toEqual([
      'Liveness probe errored and resulted in unknown state: rpc error: code = Unknown desc = no such process',
    ]);
    await node.advance(minute);
    expect(node.events('a', 'Killing')).toEqual([]);
    expect(node.kubelet.probeMetricsText()).toBe('');
  });

  it('the variables in a command are the literal ones of the container', async () => {
    const script = scripted();
    const node = await nodeWith(script);
    const env = [
      { name: 'PORT', value: '80' },
      { name: 'HIDDEN', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    ];
    const command = ['check', '$(PORT)', '[$(HIDDEN)]', '$(OTHER)', '$$(PORT)'];
    node.set([
      apiPod('a', shape([app({ livenessProbe: { exec: { command }, periodSeconds: 1 } }, { env })])),
    ]);
    await node.until('it is probed', () => script.commands.length > 0);
    expect(script.commands[0]).toBe('check 80 [] $(OTHER) $(PORT)');
  });
});

describe('startup', () => {
  it('goes before the others, and readiness follows its success at once', async () => {
    const script = scripted({ up: { exitCode: 1 }, live: { exitCode: 1 } });
    const node = await nodeWith(script);
    node.set([
      apiPod(
        'a',
        shape([
          app({
            startupProbe: exec('up', { failureThreshold: 100 }),
            livenessProbe: exec('live', { failureThreshold: 1 }),
            readinessProbe: exec('ready', { periodSeconds: 30 }),
          }),
        ]),
      ),
    ]);
    await node.until('it runs', () => script.machine.running('a').length === 1);
    await node.advance(40 * second);
    expect(count(script, 'live')).toBe(0);
    expect(count(script, 'ready')).toBe(0);
    expect(node.container('a')).toMatchObject({ started: false, ready: false });
    delete script.answers.up;
    delete script.answers.live;
    await node.until('it has started', () => node.container('a')?.started === true, 2 * second);
    const startups = count(script, 'up');
    await node.untilReady('a', 500);
    await node.advance(minute);
    expect(count(script, 'up'), 'it is not probed again').toBe(startups);
    expect(count(script, 'live')).toBeGreaterThan(50);
  });

  it('goes before the others again when the container was restarted', async () => {
    const script = scripted();
    const node = await nodeWith(script);
    node.set([
      apiPod(
        'a',
        shape([
          app({
            startupProbe: exec('up', { periodSeconds: 10, failureThreshold: 100 }),
            livenessProbe: exec('live', { failureThreshold: 1 }),
          }),
        ]),
      ),
    ]);
    await node.untilReady('a');
    script.answers.up = { exitCode: 1 };
    script.answers.live = { exitCode: 1 };
    await node.until('it runs again', () => node.container('a')?.restartCount === 1);
    const lives = count(script, 'live');
    expect(node.container('a')).toMatchObject({ started: false, ready: false });
    await node.advance(25 * second);
    expect(count(script, 'live')).toBe(lives);
    expect(node.container('a')).toMatchObject({ started: false, ready: false, restartCount: 1 });
    delete script.answers.up;
    delete script.answers.live;
    await node.untilReady('a');
  });

  it('that fails restarts the container', async () => {
    const script = scripted({ up: { exitCode: 1, stdout: 'no' } });
    const node = await nodeWith(script);
    node.set([apiPod('a', shape([app({ startupProbe: exec('up', { failureThreshold: 2 }) })]))]);
    await node.until('it is killed', () => node.events('a', 'Killing').length === 1);
    expect(node.events('a', 'Killing')[0]?.message).toBe(
      'Container app failed startup probe, will be restarted',
    );
    expect(unhealthy(node)).toEqual(Array(2).fill('Startup probe failed: no'));
    delete script.answers.up;
    await node.untilReady('a');
    expect(node.container('a')).toMatchObject({ restartCount: 1, started: true });
  });
});
