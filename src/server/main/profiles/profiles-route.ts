/** `/debug/pprof/`: profiles of the agent itself, one at a time, for `go tool pprof` and for Chrome's developer tools. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type Clock, errorText, isCancelled, sleep } from '../../../async/index.js';
import { plain, plainError, type RouteResponse } from '../../responses.js';
import type { Route } from '../../routes.js';
import { encodePprof, type StackProfile } from './pprof.js';
import { type ProfileRequest, profileRequest } from './profile-request.js';
import type { Profiler } from './profiler.js';
import { cpuStacks, heapStacks, type ProfileTaking } from './v8-profiles.js';

export interface ProfilesOptions {
  readonly clock: Clock;
  readonly profiler: () => Promise<Profiler>;
  readonly argv: readonly string[];
}

const cpuIntervalMs = 1;
const allocationIntervalBytes = 16 * 1024;
const path = '/debug/pprof/';

export function disabledProfilesRoute(): Route {
  return { kind: 'plain', path, handle: () => plainError(405, 'profiling endpoint is disabled.') };
}

export function profilesRoute(options: ProfilesOptions): Route {
  const turn = new ProfileTurn();
  return {
    kind: 'tree',
    path,
    methods: ['GET'],
    handle: ({ query, signal }, name) => {
      const wanted = profileRequest(name, query);
      switch (wanted.kind) {
        case 'index':
          return index();
        case 'cmdline':
          return plain(200, options.argv.join('\0'));
        case 'refused':
          return plainError(wanted.status, wanted.message);
        case 'cpu':
        case 'allocations':
          return turn.take(() => sampled(wanted, options, signal));
      }
    },
  };
}

/** Two profiles at once would show each other. */
class ProfileTurn {
  #isTaken = false;

  async take(work: () => Promise<RouteResponse>): Promise<RouteResponse> {
    try {
      return await this.hold(work);
    } catch (error) {
      if (isCancelled(error)) throw error;
      return failure(error);
    }
  }

  async hold<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isTaken)
      throw new ProfileRefusal(429, 'another profile is being taken; try again when it is done');
    this.#isTaken = true;
    try {
      return await work();
    } finally {
      this.#isTaken = false;
    }
  }
}

class ProfileRefusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

function failure(error: unknown): RouteResponse {
  if (error instanceof ProfileRefusal) return plainError(error.status, error.message);
  return plainError(500, `Could not take the profile: ${errorText(error)}`);
}

type SampledRequest = Extract<ProfileRequest, { readonly kind: 'cpu' | 'allocations' }>;

/** Ends without a profile when the client leaves. */
async function sampled(
  wanted: SampledRequest,
  { clock, profiler: load }: ProfilesOptions,
  signal: AbortSignal | undefined,
): Promise<RouteResponse> {
  const profiler = await load();
  const startedAtMs = clock.now();
  const until = (): Promise<void> => sleep(clock, wanted.durationMs, signal);
  const taking = (comment: string): ProfileTaking => ({
    startedAtMs,
    durationMs: clock.now() - startedAtMs,
    comment,
  });
  if (wanted.kind === 'cpu') {
    const profile = await profiler.cpu(cpuIntervalMs, until);
    if (wanted.form === 'cpuprofile') return file('nodelet.cpuprofile', JSON.stringify(profile));
    return pprof('profile', cpuStacks(profile, cpuIntervalMs, taking('CPU time of the main thread')));
  }
  const { withFreed } = wanted;
  const profile = await profiler.allocations(
    { samplingIntervalBytes: allocationIntervalBytes, withFreed },
    until,
  );
  if (wanted.form === 'heapprofile') return file('nodelet.heapprofile', JSON.stringify(profile));
  const [name, space, comment] = withFreed
    ? ['allocs', 'alloc_space', 'allocated while the profile was taken']
    : ['heap', 'inuse_space', 'allocated while the profile was taken, and still in use at its end'];
  return pprof(name, heapStacks(profile, space, allocationIntervalBytes, taking(comment)));
}

async function pprof(name: string, profile: StackProfile): Promise<RouteResponse> {
  return file(name, await promisify(gzip)(encodePprof(profile)));
}

function file(name: string, body: RouteResponse['body']): RouteResponse {
  return {
    status: 200,
    headers: {
      'Content-Type': 'application/octet-stream',
      'Content-Disposition': `attachment; filename="${name}"`,
      'X-Content-Type-Options': 'nosniff',
    },
    body,
  };
}

function index(): RouteResponse {
  const entries = [
    ['profile', 'CPU time of the agent for ?seconds=30'],
    ['profile?format=cpuprofile', "the same for Chrome's developer tools"],
    ['heap', 'what was allocated for ?seconds=10 and is still in use'],
    ['heap?format=heapprofile', "the same for Chrome's developer tools"],
    ['allocs', 'all that was allocated for ?seconds=10'],
    ['cmdline', "the agent's command line"],
  ];
  const items = entries.map(([link = '', about = '']) => `<li><a href="${link}">${link}</a>: ${about}</li>`);
  return {
    status: 200,
    headers: { 'Content-Type': 'text/html; charset=utf-8', 'X-Content-Type-Options': 'nosniff' },
    body: `<html><head><title>${path}</title></head><body><ul>${items.join('')}</ul></body></html>\n`,
  };
}
