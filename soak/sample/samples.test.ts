import { describe, expect, it } from 'vitest';
import { callsOf } from './agent-pages.js';
import { handleKind, sampleProcess } from './process-sample.js';
import { SampleRing } from './sample-ring.js';

describe('the ring of samples', () => {
  it.each([5, 10, 999, 100_000])('of 10 rows has at most 10 after %i, over all of the time', (offered) => {
    const ring = new SampleRing(10);
    for (let at = 0; at < offered; at++) ring.add({ atMs: at, values: {} });
    expect(ring.rows.length).toBeLessThanOrEqual(10);
    const moments = ring.rows.map(({ atMs }) => atMs);
    expect(moments).toEqual([...moments].sort((a, b) => a - b));
    expect(moments[0]).toBe(0);
    expect(moments.at(-1)).toBeGreaterThanOrEqual(offered / 2 - 1);
  });
});

it.each([
  ['socket:[123]', 'socket'],
  ['pipe:[5]', 'pipe'],
  ['anon_inode:[eventpoll]', 'eventpoll'],
  ['anon_inode:inotify', 'inotify'],
  ['/dev/null', 'device'],
  ['/sys/fs/cgroup/pids/a/pids.max', 'cgroup'],
  ['/var/lib/x (deleted)', 'file'],
  ['memfd:x', 'file'],
])('the handle %s is a %s', (target, kind) => {
  expect(handleKind(target)).toBe(kind);
});

it('a process is measured, and one that is gone is none', () => {
  const own = sampleProcess(process.pid);
  expect(own?.rssBytes).toBeGreaterThan(1024 * 1024);
  expect(own?.handles).toBeGreaterThan(2);
  expect(own?.cpuMs).toBeGreaterThan(0);
  expect(sampleProcess(2 ** 22 + 1)).toBeUndefined();
});

it('calls are summed by method', () => {
  const page = [
    '# TYPE kubelet_runtime_operations_total counter',
    'kubelet_runtime_operations_total{operation_type="list_containers"} 5',
    'kubelet_runtime_operations_total{operation_type="status"} 2',
    'rest_client_requests_total{code="200",host="a",method="GET"} 3',
    'rest_client_requests_total{code="404",host="a",method="GET"} 1',
    'other{operation_type="x"} 9',
  ].join('\n');
  expect(callsOf(page)).toEqual({ runtime: { list_containers: 5, status: 2 }, api: { GET: 4 } });
});
