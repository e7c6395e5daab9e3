import { expect, it } from 'vitest';
import { type ProfileRequest, profileRequest } from './profile-request.js';

const allocations = { kind: 'allocations', durationMs: 10_000, withFreed: false, form: 'pprof' } as const;

it.each<[asked: string, wanted: ProfileRequest]>([
  ['', { kind: 'index' }],
  ['cmdline', { kind: 'cmdline' }],
  ['profile', { kind: 'cpu', durationMs: 30_000, form: 'pprof' }],
  ['profile?seconds=5', { kind: 'cpu', durationMs: 5000, form: 'pprof' }],
  ['profile?seconds=300', { kind: 'cpu', durationMs: 300_000, form: 'pprof' }],
  ['profile?seconds=301', { kind: 'refused', status: 400, message: 'seconds: at most 300' }],
  ['profile?seconds=-1', { kind: 'cpu', durationMs: 30_000, form: 'pprof' }],
  ['profile?seconds=NaN', { kind: 'cpu', durationMs: 30_000, form: 'pprof' }],
  ['profile?seconds=Infinity', { kind: 'cpu', durationMs: 30_000, form: 'pprof' }],
  ['profile?format=cpuprofile', { kind: 'cpu', durationMs: 30_000, form: 'cpuprofile' }],
  [
    'profile?format=svg',
    { kind: 'refused', status: 400, message: 'format: "svg" is unknown; write pprof or cpuprofile' },
  ],
  ['heap', allocations],
  ['heap?seconds=1&format=heapprofile', { ...allocations, durationMs: 1000, form: 'heapprofile' }],
  ['heap?seconds=3600', { kind: 'refused', status: 400, message: 'seconds: at most 300' }],
  ['heap?debug=0', allocations],
  [
    'heap?debug=1',
    { kind: 'refused', status: 400, message: 'debug: this agent has no text form of profiles' },
  ],
  ['allocs', { ...allocations, withFreed: true }],
  [
    'heap?format=heapsnapshot',
    {
      kind: 'refused',
      status: 400,
      message: 'format: "heapsnapshot" is unknown; write pprof or heapprofile',
    },
  ],
  ['goroutine', { kind: 'refused', status: 404, message: 'Unknown profile' }],
  ['profile/x', { kind: 'refused', status: 404, message: 'Unknown profile' }],
])('%s', (asked, wanted) => {
  const [name = '', query = ''] = asked.split('?');
  expect(profileRequest(name, new URLSearchParams(query))).toEqual(wanted);
});
